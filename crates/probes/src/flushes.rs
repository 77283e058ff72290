//! Counts flushes of the disks below a directory, by any program. A commit that survives a power failure requires one.
//!
//! The kernel counts flushes on whole disks, but not on partitions or mapped devices such as LVM's. Disks without a
//! volatile cache receive no flushes, because each of their writes is durable.

use crate::disk::Disk;
pub use dbdyno_protocol::event::DeviceFlushes;
use std::path::{Path, PathBuf};

/// The disks below a directory.
#[derive(Debug, Clone)]
pub struct FlushCounter {
    disks: Vec<Disk>,
    forced_writes: bool,
}

/// A reading of the disks' counters since the machine started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlushReading(Vec<(u64, u64)>);

impl FlushCounter {
    /// The disks that contain a file or directory. `None` if it isn't on a disk, or if the kernel doesn't count
    /// requests of one of these disks.
    pub fn of(path: &Path) -> Option<Self> {
        let device = Disk::of(path)?;
        let (major, minor) = device.number();
        let disks = whole_disks(Path::new(&format!("/sys/dev/block/{major}:{minor}")))?;
        Self::of_disks(&disks)
    }

    /// `disks`: their directories in `/sys`.
    fn of_disks(disks: &[PathBuf]) -> Option<Self> {
        let setting = |disk: &Path, name: &str| {
            let text = std::fs::read_to_string(disk.join("queue").join(name)).ok()?;
            Some(text.trim().to_owned())
        };
        let mut found = Vec::new();
        let mut forced_writes = false;
        for disk in disks {
            let forced = setting(disk, "write_cache")? != "write back" || setting(disk, "fua").as_deref() == Some("1");
            forced_writes |= forced;
            let number = std::fs::read_to_string(disk.join("dev")).ok()?;
            let (major, minor) = number.trim().split_once(':')?;
            let disk = Disk::numbered(major.parse().ok()?, minor.parse().ok()?)?;
            // A counter of zero means that the driver doesn't maintain it, because file systems flush when they are
            // mounted.
            if !forced && disk.read()?.flushes() == 0 {
                return None;
            }
            found.push(disk);
        }
        (!found.is_empty()).then_some(Self {
            disks: found,
            forced_writes,
        })
    }

    /// The current counters; `None` if a disk is gone.
    pub fn read(&self) -> Option<FlushReading> {
        let read = |disk: &Disk| disk.read().map(|counters| (counters.flushes(), counters.writes()));
        self.disks.iter().map(read).collect::<Option<_>>().map(FlushReading)
    }

    /// Activity between two readings.
    pub fn between(&self, then: &FlushReading, now: &FlushReading) -> DeviceFlushes {
        let rise = |field: fn(&(u64, u64)) -> u64| {
            let each = then.0.iter().zip(&now.0);
            each.map(|(then, now)| field(now).saturating_sub(field(then)))
                .max()
                .unwrap_or(0)
        };
        DeviceFlushes {
            device: self
                .disks
                .iter()
                .map(|disk| disk.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
            flushes: rise(|counters| counters.0),
            forced_writes: if self.forced_writes {
                rise(|counters| counters.1)
            } else {
                0
            },
        }
    }
}

/// The directories of the whole disks below a block device, through partitions and mapped devices.
fn whole_disks(device: &Path) -> Option<Vec<PathBuf>> {
    let device = device.canonicalize().ok()?;
    if device.join("partition").exists() {
        return whole_disks(device.parent()?);
    }
    let below: Vec<_> = std::fs::read_dir(device.join("slaves"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    if below.is_empty() {
        return Some(vec![device]);
    }
    let mut disks = Vec::new();
    for each in below {
        disks.extend(whole_disks(&each)?);
    }
    Some(disks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A directory like the kernel's `/sys`: a disk with a partition, and a device mapped to the partition.
    fn mapped_partition(root: &Path) -> (PathBuf, PathBuf) {
        let (disk, mapper) = (root.join("sda"), root.join("dm-0"));
        fs::create_dir_all(disk.join("sda1")).expect("a directory");
        fs::write(disk.join("sda1/partition"), "1\n").expect("a file");
        fs::create_dir_all(mapper.join("slaves")).expect("a directory");
        std::os::unix::fs::symlink(disk.join("sda1"), mapper.join("slaves/sda1")).expect("a link");
        (disk, mapper)
    }

    #[test]
    fn flushes_are_counted_on_the_whole_disk() {
        let root = tempfile::tempdir().expect("a directory");
        let (disk, mapper) = mapped_partition(root.path());
        let disk = disk.canonicalize().expect("it exists");
        assert_eq!(whole_disks(&mapper), Some(vec![disk.clone()]));
        assert_eq!(whole_disks(&disk.join("sda1")), Some(vec![disk.clone()]));
        assert_eq!(whole_disks(&disk), Some(vec![disk]));
        assert_eq!(whole_disks(&root.path().join("sdb")), None);
    }

    #[test]
    fn files_without_a_disk_are_not_counted() {
        let root = tempfile::tempdir().expect("a directory");
        assert!(FlushCounter::of_disks(&[root.path().to_owned()]).is_none());
        assert!(FlushCounter::of_disks(&[]).is_none());
        assert!(FlushCounter::of(Path::new("/proc")).is_none());
    }

    #[test]
    fn the_disk_with_the_largest_increase_counts() {
        let disk = |name: &str| Disk::named(name);
        let mut counter = FlushCounter {
            disks: vec![disk("sda"), disk("sdb")],
            forced_writes: false,
        };
        let (then, now) = (FlushReading(vec![(5, 9), (7, 9)]), FlushReading(vec![(9, 19), (8, 39)]));
        let found = counter.between(&then, &now);
        assert_eq!(
            (found.device.as_str(), found.flushes, found.forced_writes),
            ("sda, sdb", 4, 0)
        );
        counter.forced_writes = true;
        assert_eq!(counter.between(&then, &now).forced_writes, 30);
    }
}

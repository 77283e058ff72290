//! Activity of a block device, from `/proc/diskstats`.

pub use dbdyno_protocol::event::DiskActivity;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A block device.
#[derive(Debug, Clone)]
pub struct Disk {
    major: u64,
    minor: u64,
    /// Its name, such as `sda`.
    pub name: String,
}

/// The device's counters since the machine started.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskCounters {
    reads: u64,
    read_sectors: u64,
    read_ms: u64,
    writes: u64,
    write_sectors: u64,
    write_ms: u64,
    flushes: u64,
    flush_ms: u64,
    weighted_ms: u64,
}

impl DiskCounters {
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes
    }

    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }
}

impl Disk {
    /// The device that contains a file or directory; `None` if there is no device (tmpfs, network).
    pub fn of(path: &Path) -> Option<Self> {
        let device = std::fs::metadata(path).ok()?.dev();
        let (major, minor) = (
            u64::from(rustix::fs::major(device)),
            u64::from(rustix::fs::minor(device)),
        );
        Self::numbered(major, minor)
    }

    /// The device with this number; `None` if the kernel doesn't know it.
    pub(crate) fn numbered(major: u64, minor: u64) -> Option<Self> {
        let stats = std::fs::read_to_string("/proc/diskstats").ok()?;
        let name = stats.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let this = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            (this == (major, minor))
                .then(|| words.next().map(str::to_owned))
                .flatten()
        })?;
        Some(Self { major, minor, name })
    }

    #[cfg(test)]
    pub(crate) fn named(name: &str) -> Self {
        Self {
            major: 0,
            minor: 0,
            name: name.to_owned(),
        }
    }

    pub(crate) fn number(&self) -> (u64, u64) {
        (self.major, self.minor)
    }

    /// The current counters; `None` if the device is gone.
    pub fn read(&self) -> Option<DiskCounters> {
        parse(
            &std::fs::read_to_string("/proc/diskstats").ok()?,
            self.major,
            self.minor,
        )
    }

    /// Activity between two readings `elapsed_s` seconds apart.
    pub fn between(&self, then: &DiskCounters, now: &DiskCounters, elapsed_s: f64) -> DiskActivity {
        let count = |field: fn(&DiskCounters) -> u64| field(now).saturating_sub(field(then));
        let mean = |total: u64, requests: u64| {
            if requests > 0 {
                total as f64 / requests as f64
            } else {
                0.0
            }
        };
        let (reads, writes, flushes) = (count(|c| c.reads), count(|c| c.writes), count(|c| c.flushes));
        DiskActivity {
            device: self.name.clone(),
            reads,
            read_bytes: count(|c| c.read_sectors) * 512,
            read_ms: mean(count(|c| c.read_ms), reads),
            writes,
            write_bytes: count(|c| c.write_sectors) * 512,
            write_ms: mean(count(|c| c.write_ms), writes),
            flushes,
            flush_ms: mean(count(|c| c.flush_ms), flushes),
            queue_length: if elapsed_s > 0.0 {
                count(|c| c.weighted_ms) as f64 / 1000.0 / elapsed_s
            } else {
                0.0
            },
        }
    }
}

/// Finds a device's line. The fields are documented in the kernel's `Documentation/admin-guide/iostats.rst`.
fn parse(stats: &str, major: u64, minor: u64) -> Option<DiskCounters> {
    stats.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let this: (u64, u64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        if this != (major, minor) {
            return None;
        }
        let fields: Vec<u64> = words.skip(1).map_while(|word| word.parse().ok()).collect();
        let field = |number: usize| fields.get(number - 1).copied().unwrap_or(0);
        Some(DiskCounters {
            reads: field(1),
            read_sectors: field(3),
            read_ms: field(4),
            writes: field(5),
            write_sectors: field(7),
            write_ms: field(8),
            weighted_ms: field(11),
            flushes: field(16),
            flush_ms: field(17),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_parsed() {
        let line = " 254 0 vda 28765 9061 1846130 5733 5146 5572 310816 906 0 3164 6815 3154 37 139664 167 238 8\n";
        let then = DiskCounters::default();
        let now = parse(line, 254, 0).expect("the device's line");
        let disk = Disk {
            major: 254,
            minor: 0,
            name: "vda".into(),
        };
        let activity = disk.between(&then, &now, 1.0);
        assert_eq!((activity.reads, activity.read_bytes), (28765, 1_846_130 * 512));
        assert_eq!((activity.writes, activity.write_bytes), (5146, 310_816 * 512));
        assert_eq!(activity.flushes, 238);
        assert!((activity.flush_ms - 8.0 / 238.0).abs() < 1e-9);
        assert!((activity.queue_length - 6.815).abs() < 1e-9);
        assert!(parse(line, 254, 1).is_none());
    }

    #[test]
    fn a_kernel_without_flush_counts_gives_none() {
        let now = parse("8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n", 8, 0).expect("the device's line");
        assert_eq!(now.flushes, 0);
    }
}

//! The CPU quota of a process's control group, and how long it was throttled.

pub use dbdyno_protocol::event::Throttling;
use procfs::process::{MountInfo, Process};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The tightest quota of a process's control group and its ancestors.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuQuota {
    directory: PathBuf,
    /// CPUs that the group may use, on average over a period.
    pub cpus: f64,
}

/// A reading of throttling since the group was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttled {
    periods: u64,
    throttled_periods: u64,
    nanoseconds: u64,
}

impl CpuQuota {
    /// The quota of a process; `None` if it has none, or if the kernel doesn't report it.
    pub fn of(pid: u32) -> Option<Self> {
        let process = Process::new(i32::try_from(pid).ok()?).ok()?;
        let mounts = Process::myself().ok()?.mountinfo().ok()?.0;
        process
            .cgroups()
            .ok()?
            .0
            .iter()
            .filter(|group| group.hierarchy == 0 || group.controllers.iter().any(|name| name == "cpu"))
            .filter_map(|group| {
                let mount = mounts
                    .iter()
                    .find(|mount| has_cpu_groups(mount, group.hierarchy == 0))?;
                tightest(&mount.mount_point, &below(&mount.root, &group.pathname))
            })
            .min_by(|a, b| a.cpus.total_cmp(&b.cpus))
    }

    /// Throttling since the group was created; `None` if the group is gone.
    pub fn read(&self) -> Option<Throttled> {
        Some(parse(&std::fs::read_to_string(self.directory.join("cpu.stat")).ok()?))
    }

    /// Throttling between two readings.
    pub fn between(&self, then: &Throttled, now: &Throttled) -> Throttling {
        Throttling {
            cpus: self.cpus,
            periods: now.periods.saturating_sub(then.periods),
            throttled_periods: now.throttled_periods.saturating_sub(then.throttled_periods),
            throttled_s: now.nanoseconds.saturating_sub(then.nanoseconds) as f64 / 1e9,
        }
    }
}

/// Whether a mount contains the CPU control groups, of version 2 or version 1.
fn has_cpu_groups(mount: &MountInfo, unified: bool) -> bool {
    if unified {
        return mount.fs_type == "cgroup2";
    }
    mount.fs_type == "cgroup" && mount.super_options.contains_key("cpu")
}

/// A group's path relative to the root of the mount.
fn below(root: &str, path: &str) -> PathBuf {
    let path = Path::new(path);
    path.strip_prefix(root)
        .or_else(|_| path.strip_prefix("/"))
        .unwrap_or(path)
        .to_owned()
}

/// The tightest quota of the groups from `path` up to the mount point.
fn tightest(mount: &Path, path: &Path) -> Option<CpuQuota> {
    path.ancestors()
        .filter(|each| !each.iter().any(|name| name == OsStr::new("..")))
        .filter_map(|each| {
            let directory = mount.join(each);
            let cpus = limit(&directory)?;
            Some(CpuQuota { directory, cpus })
        })
        .min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

/// The CPUs that a group may use; `None` if unlimited.
fn limit(directory: &Path) -> Option<f64> {
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).ok();
    let (quota, period) = match read("cpu.max") {
        Some(text) => {
            let (quota, period) = text.trim().split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
        None => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
    };
    // Without a limit the quota is `max` in version 2 and -1 in version 1.
    let (quota, period): (f64, f64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

fn parse(stat: &str) -> Throttled {
    let field = |name: &str| {
        stat.lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(key, _)| *key == name)
            .and_then(|(_, value)| value.trim().parse::<u64>().ok())
    };
    // Version 2 counts microseconds, version 1 nanoseconds.
    let microseconds = field("throttled_usec").map(|us| us * 1000);
    Throttled {
        periods: field("nr_periods").unwrap_or(0),
        throttled_periods: field("nr_throttled").unwrap_or(0),
        nanoseconds: microseconds.or_else(|| field("throttled_time")).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_tightest_quota_of_a_group_and_its_ancestors_counts() {
        let root = tempfile::tempdir().expect("a directory");
        let leaf = root.path().join("slice/service");
        fs::create_dir_all(&leaf).expect("a directory");
        let write = |name: &str, text: &str| fs::write(root.path().join(name), text).expect("a file");
        write("slice/cpu.max", "50000 100000\n");
        write("slice/service/cpu.max", "max 100000\n");
        let found = tightest(root.path(), Path::new("slice/service")).expect("a quota");
        assert_eq!((found.cpus, &found.directory), (0.5, &root.path().join("slice")));
        assert_eq!(tightest(root.path(), Path::new("other")), None);
        // Groups outside the mount are not visible.
        assert_eq!(tightest(&leaf, Path::new("../../slice")), None);
        write("slice/service/cpu.cfs_quota_us", "-1\n");
        write("slice/service/cpu.cfs_period_us", "100000\n");
        fs::remove_file(leaf.join("cpu.max")).expect("it was there");
        assert_eq!(limit(&leaf), None);
        write("slice/service/cpu.cfs_quota_us", "25000\n");
        assert_eq!(limit(&leaf), Some(0.25));
    }

    #[test]
    fn throttling_is_read_in_both_versions() {
        let quota = CpuQuota {
            directory: PathBuf::new(),
            cpus: 0.5,
        };
        let first = parse("usage_usec 9\nnr_periods 10\nnr_throttled 2\nthrottled_usec 1000000\n");
        let then = quota.between(&Throttled::default(), &first);
        assert_eq!((then.periods, then.throttled_periods, then.throttled_s), (10, 2, 1.0));
        let second = parse("nr_periods 30\nnr_throttled 12\nthrottled_time 3000000000\n");
        let later = quota.between(&first, &second);
        assert_eq!(
            (later.periods, later.throttled_periods, later.throttled_s),
            (20, 10, 2.0)
        );
    }

    #[test]
    fn a_path_is_relative_to_the_root_of_its_mount() {
        assert_eq!(below("/docker/a", "/docker/a/b"), Path::new("b"));
        assert_eq!(below("/", "/x/y"), Path::new("x/y"));
        assert_eq!(CpuQuota::of(u32::MAX >> 1), None);
    }
}

//! Control groups: below which of this process's own groups others can be made, and what such a group can hold.
//!
//! Looks only; [`crate::inside::group`] makes the groups of a run and of its cells. Version 2 has one tree that freezes,
//! kills and proves a group empty, and controllers that may be absent from it; on machines that still mount controllers
//! of version 1, each of those is a tree of its own.

use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::process::Pid;

/// Memory of a cell: a constant, so that cells of different machines can be compared.
const MEMORY_BYTES: u64 = 4 << 30;

/// What limits a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controller {
    /// Memory, what lies in memory file systems included.
    Memory,
    /// Number of processes and threads.
    Pids,
    /// CPU time.
    Cpu,
}

impl Controller {
    /// All that are used.
    pub(crate) const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    /// The kernel's name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }

    /// What it holds a cell to, in words.
    pub(crate) fn phrase(self) -> &'static str {
        match self {
            Self::Memory => "memory 4 GiB",
            Self::Pids => "processes and threads 512",
            Self::Cpu => "CPU time of 2 processors",
        }
    }

    /// File and text by which a group gets its limit, the ones that every kernel has first.
    pub(crate) fn settings(self, unified: bool) -> Vec<(&'static str, String)> {
        let processes = crate::inside::limits::PROCESSES.to_string();
        match (self, unified) {
            (Self::Memory, true) => vec![("memory.max", MEMORY_BYTES.to_string())],
            (Self::Memory, false) => vec![("memory.limit_in_bytes", MEMORY_BYTES.to_string())],
            (Self::Pids, true | false) => vec![("pids.max", processes)],
            (Self::Cpu, true) => vec![("cpu.max", "200000 100000".to_owned())],
            (Self::Cpu, false) => {
                vec![("cpu.cfs_period_us", "100000".to_owned()), ("cpu.cfs_quota_us", "200000".to_owned())]
            }
        }
    }

    /// What keeps memory from being moved to swap, where the kernel has swap at all.
    pub(crate) fn wishes(self, unified: bool) -> Option<(&'static str, String)> {
        match (self, unified) {
            (Self::Memory, true) => Some(("memory.swap.max", "0".to_owned())),
            (Self::Memory, false) => Some(("memory.memsw.limit_in_bytes", MEMORY_BYTES.to_string())),
            (Self::Pids | Self::Cpu, true | false) => None,
        }
    }
}

/// A group of this process's own below which others can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its directory.
    pub(crate) dir: PathBuf,
    /// Is it in the tree of version 2?
    pub(crate) unified: bool,
    /// What groups below it can be held to. In version 2 perhaps only after this process has moved out of it.
    pub(crate) controllers: Vec<Controller>,
}

/// What there is, and why not more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Delegated {
    /// Where groups can be made.
    pub(crate) places: Vec<Place>,
    /// What cannot be used, each with its cause.
    pub(crate) causes: Vec<String>,
}

impl Delegated {
    /// Looks at this process's own groups. `harness` = the processes of a run beside its cells: they can be moved.
    pub(crate) fn find(harness: &[Pid]) -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Self::of(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup")).kept_back(harness)
    }

    /// Without what a group does not pass on while others than `harness` are in it.
    fn kept_back(mut self, harness: &[Pid]) -> Self {
        for place in self.places.iter_mut().filter(|place| place.unified) {
            let there = controllers_in(&place.dir.join("cgroup.subtree_control"));
            let waits = place.controllers.iter().any(|one| !there.contains(one));
            if waits && processes_in(&place.dir).iter().any(|pid| !harness.contains(pid)) {
                place.controllers.retain(|one| there.contains(one));
                self.causes.push(format!(
                    "{} holds other processes as well, so it passes on no limits: start bench in a group of its own, \
                     `systemd-run --user --scope -p Delegate=yes bench …`",
                    place.dir.display()
                ));
            }
        }
        self
    }

    /// As [`Delegated::find`], from the texts of these files of /proc.
    fn of(mountinfo: &str, own: &str) -> Self {
        let mut found = Self::default();
        let trees: Vec<Tree> = mountinfo.lines().filter_map(Tree::parse).collect();
        if trees.is_empty() {
            found.causes.push("control groups are not mounted here".to_owned());
        }
        let wanted = |tree: &&Tree| tree.unified || !tree.wanted().is_empty();
        for tree in trees.iter().filter(wanted) {
            match tree.place(own) {
                Ok(place) => found.places.push(place),
                Err(cause) => found.causes.push(cause),
            }
        }
        found
    }

    /// Everything that groups here can be held to.
    pub(crate) fn holds(&self, controller: Controller) -> bool {
        self.places.iter().any(|place| place.controllers.contains(&controller))
    }

    /// Can a group be frozen, killed and proven empty?
    pub(crate) fn kills(&self) -> bool {
        self.places.iter().any(|place| place.unified)
    }

    /// In words, for `bench doctor`: what can be used, then what cannot.
    pub(crate) fn phrases(&self) -> Vec<String> {
        let place = |place: &Place| {
            let version = if place.unified { "version 2: freeze, kill, proof" } else { "version 1" };
            let limits = place.controllers.iter().map(|one| format!(", {}", one.phrase()));
            format!("{} ({version}{})", place.dir.display(), limits.collect::<String>())
        };
        self.places.iter().map(place).chain(self.causes.iter().cloned()).collect()
    }
}

/// A mounted tree of groups.
struct Tree {
    /// The group at which the mount begins.
    root: String,
    /// Where.
    at: PathBuf,
    unified: bool,
    /// Controllers of a tree of version 1.
    names: Vec<String>,
}

impl Tree {
    /// One line of mountinfo; none if it is another file system.
    fn parse(line: &str) -> Option<Self> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, at) = (mount.next()?.to_owned(), PathBuf::from(mount.next()?));
        let mut kind = kind.split(' ');
        let unified = match kind.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        let names = kind.nth(1).unwrap_or_default().split(',').map(str::to_owned).collect();
        Some(Self { root, at, unified, names })
    }

    /// The controllers of version 1 that are used here.
    fn wanted(&self) -> Vec<Controller> {
        let named = |one: &Controller| !self.unified && self.names.iter().any(|name| name == one.word());
        Controller::ALL.into_iter().filter(named).collect()
    }

    /// Where this process is in it, if groups can be made there.
    fn place(&self, own: &str) -> Result<Place, String> {
        let at = self.at.display();
        let path = self.own_path(own).ok_or_else(|| format!("{at}: this process is in no group of it"))?;
        let below = path.strip_prefix(&self.root).unwrap_or(Path::new("/"));
        let dir = match below.strip_prefix("/").unwrap_or(below) {
            own if own.as_os_str().is_empty() => self.at.clone(),
            own => self.at.join(own),
        };
        for needed in [dir.clone(), dir.join("cgroup.procs")] {
            rustix::fs::access(&needed, Access::WRITE_OK)
                .map_err(|error| format!("{} is not delegated to this user: {error}", needed.display()))?;
        }
        let controllers = if self.unified { usable(&dir)? } else { self.wanted() };
        Ok(Place { dir, unified: self.unified, controllers })
    }

    /// The path of this process's group, by the lines of /proc/self/cgroup: `number:controllers:path`.
    fn own_path(&self, own: &str) -> Option<PathBuf> {
        own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (number, names, path) = (fields.next()?, fields.next()?, fields.next()?);
            let here = if self.unified {
                number == "0" && names.is_empty()
            } else {
                !names.is_empty() && names.split(',').all(|name| self.names.iter().any(|own| own == name))
            };
            here.then(|| PathBuf::from(path))
        })
    }
}

/// The controllers of version 2 that groups below `dir` can have. The tree's own root is the machine's: there, only what is
/// passed on already; elsewhere whatever was delegated.
fn usable(dir: &Path) -> Result<Vec<Controller>, String> {
    let is_root = !dir.join("cgroup.type").exists();
    let file = dir.join(if is_root { "cgroup.subtree_control" } else { "cgroup.controllers" });
    std::fs::metadata(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(controllers_in(&file))
}

/// The controllers that a file names.
pub(crate) fn controllers_in(file: &Path) -> Vec<Controller> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let named = |one: &Controller| text.split_ascii_whitespace().any(|name| name == one.word());
    Controller::ALL.into_iter().filter(named).collect()
}

/// Who is in a group, but not in one below it.
pub(crate) fn processes_in(group: &Path) -> Vec<Pid> {
    let text = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(root: &str, at: &Path, kind: &str, options: &str) -> String {
        format!("41 31 0:38 {root} {} rw,relatime shared:9 - {kind} {kind} {options}\n", at.display())
    }

    fn group(dir: &Path, files: &[(&str, &str)]) {
        std::fs::create_dir_all(dir).unwrap();
        std::fs::write(dir.join("cgroup.procs"), "").unwrap();
        for (name, text) in files {
            std::fs::write(dir.join(name), text).unwrap();
        }
    }

    #[test]
    fn a_delegated_group_of_version_2_is_found_with_its_controllers() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("user.slice/run-1.scope");
        group(&own, &[("cgroup.type", "domain\n"), ("cgroup.controllers", "cpuset cpu io memory pids\n")]);
        let mounts = mount("/", dir.path(), "cgroup2", "rw,nsdelegate");
        let found = Delegated::of(&mounts, "0::/user.slice/run-1.scope\n");
        let controllers = Controller::ALL.to_vec();
        assert_eq!(found.places, [Place { dir: own, unified: true, controllers }]);
        assert!(found.kills() && found.holds(Controller::Memory));
        // A container's mount begins at its own group.
        let inner =
            Delegated::of(&mount("/pod", dir.path(), "cgroup2", "rw"), "0::/pod/user.slice/run-1.scope\n");
        assert_eq!(inner.places, found.places);
    }

    #[test]
    fn a_group_that_others_are_in_passes_on_no_more_than_it_does() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("session-1.scope");
        let files = [
            ("cgroup.type", "domain\n"),
            ("cgroup.controllers", "cpu memory pids\n"),
            ("cgroup.subtree_control", "pids\n"),
            ("cgroup.procs", "17\n4711\n"),
        ];
        group(&own, &files);
        let find = || Delegated::of(&mount("/", dir.path(), "cgroup2", "rw"), "0::/session-1.scope\n");
        let pids = [17, 4711].map(|pid| Pid::from_raw(pid).unwrap());
        let among_others = find().kept_back(&pids[..1]);
        assert_eq!(among_others.places[0].controllers, [Controller::Pids]);
        assert!(among_others.causes[0].contains("Delegate=yes"), "{among_others:?}");
        assert!(among_others.kills(), "freezing and killing need no controller");
        assert_eq!(find().kept_back(&pids), find(), "its own processes can be moved");
    }

    #[test]
    fn of_the_machines_own_root_only_what_is_passed_on_already_is_used() {
        let dir = tempfile::tempdir().unwrap();
        group(
            dir.path(),
            &[("cgroup.controllers", "cpu memory pids\n"), ("cgroup.subtree_control", "pids\n")],
        );
        let found = Delegated::of(&mount("/", dir.path(), "cgroup2", "rw"), "0::/\n");
        assert_eq!(found.places[0].controllers, [Controller::Pids]);
    }

    #[test]
    fn controllers_of_version_1_are_trees_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let [memory, cpu, other] = ["memory", "cpu,cpuacct", "blkio"].map(|name| dir.path().join(name));
        group(&memory.join("job/1"), &[]);
        group(&cpu, &[]);
        let mounts = mount("/", &memory, "cgroup", "rw,memory")
            + &mount("/", &cpu, "cgroup", "rw,cpu,cpuacct")
            + &mount("/", &other, "cgroup", "rw,blkio")
            + "30 1 0:2 / /proc rw - proc proc rw\n";
        let found = Delegated::of(&mounts, "4:memory:/job/1\n2:cpu,cpuacct:/\n7:blkio:/\n0::/\n");
        let place = |dir: PathBuf, one| Place { dir, unified: false, controllers: vec![one] };
        let expected = [place(memory.join("job/1"), Controller::Memory), place(cpu, Controller::Cpu)];
        assert_eq!((found.places.as_slice(), found.causes.len()), (expected.as_slice(), 0));
        assert!(!found.kills() && !found.holds(Controller::Pids));
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_cause() {
        let dir = tempfile::tempdir().unwrap();
        let nothing = Delegated::of("", "0::/\n");
        assert_eq!(nothing.phrases(), ["control groups are not mounted here"]);
        let absent = Delegated::of(&mount("/", dir.path(), "cgroup2", "rw"), "0::/gone\n");
        assert!(absent.places.is_empty() && absent.causes[0].contains("not delegated"), "{absent:?}");
        let elsewhere = Delegated::of(&mount("/", dir.path(), "cgroup", "rw,pids"), "0::/\n");
        assert!(elsewhere.causes[0].contains("in no group of it"), "{elsewhere:?}");
    }
}

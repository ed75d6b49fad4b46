//! This binary as the agent in the cell: tries one thing and prints what came of it.

use std::process::ExitCode;

pub(crate) fn main(args: &[String]) -> ExitCode {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["connect", port] => {
            let address = format!("127.0.0.1:{port}");
            match std::net::TcpStream::connect(address) {
                Ok(_) => println!("connected"),
                Err(error) => println!("{:?}", error.kind()),
            }
        }
        ["listen"] => {
            println!("{:?}", std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.kind()).err())
        }
        ["environment"] => std::env::vars_os().for_each(|(key, _)| println!("{}", key.to_string_lossy())),
        ["descriptors"] => {
            // The directory that is being read is a descriptor as well: it is gone when its target is asked for.
            let names: Vec<_> =
                std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().file_name()).collect();
            for name in names {
                if let Ok(target) = std::fs::read_link(std::path::Path::new("/proc/self/fd").join(&name)) {
                    println!("{} {}", name.to_string_lossy(), target.display());
                }
            }
        }
        ["signal", pid] => {
            let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
            println!("{:?}", rustix::process::test_kill_process(pid));
        }
        ["abstract", name] => {
            use std::os::linux::net::SocketAddrExt;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
            let answer = std::os::unix::net::UnixStream::connect_addr(&address);
            println!("{:?}", answer.map_err(|error| error.kind()).err());
        }
        ["own-image"] => {
            let again =
                std::process::Command::new("/proc/self/exe").args(["agent", "environment"]).output().unwrap();
            let path = std::fs::read_link("/proc/self/exe").unwrap();
            let neighbours = std::fs::read_dir(path.parent().unwrap()).map_err(|error| error.kind()).err();
            println!("again: {}, neighbours: {neighbours:?}", again.status);
        }
        other => {
            println!("no such attempt: {other:?}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

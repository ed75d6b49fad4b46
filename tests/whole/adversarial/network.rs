//! Rows 12 to 15: sockets of every kind, and who is reached by them.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::fields;

#[test]
fn row_12_unix_sockets_of_others() {
    for field in fields("row 12") {
        let field = field.with_try();
        let name = format!("bench-adverse-{}", std::process::id());
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let path = UnixListener::bind(field.outside("agent.sock")).unwrap();
        for listener in [&hidden, &path] {
            listener.set_nonblocking(true).unwrap();
        }
        let script =
            format!("./try abstract {name}; ./try path-socket OUTSIDE/agent.sock; touch done; exit 0");
        let cells = field.play(&[("sockets", &script)]);
        let cell = &cells["sockets"];
        if !cell.names_gap("unix sockets by path") {
            cell.had_no_effect(&field);
        }
        assert!(hidden.accept().is_err(), "the abstract socket was reached");
        let reached = path.accept().is_ok();
        assert!(
            !reached || cell.names_gap("unix sockets by path"),
            "the socket in the file system was reached"
        );
        let twin = "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\")' 2>/dev/null; touch done; exit 0";
        field.play_one(twin).is_valid();
    }
}

#[test]
fn row_13_15_other_ports_and_other_roads_to_them() {
    for field in fields("rows 13, 15") {
        let field = field.with_try();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let tries = [
            ("port", format!("./try tcp 127.0.0.1 {port}")),
            ("host", "./try tcp 192.0.2.1 80; ./try tcp 10.0.0.1 443".to_owned()),
            ("mptcp", format!("./try mptcp 127.0.0.1 {port}")),
            ("fast-open", format!("./try fast-open {port}")),
            ("recorder", "h=${BENCH_BASE_URL#http://}; h=${h%%/*}; ./try fast-open ${h#*:}".to_owned()),
            ("listen", "./try listen".to_owned()),
        ];
        let scripts: Vec<(&str, String)> =
            tries.iter().map(|(name, attempt)| (*name, format!("{attempt}; touch done; exit 0"))).collect();
        let scripts: Vec<(&str, &str)> =
            scripts.iter().map(|(name, script)| (*name, script.as_str())).collect();
        let cells = field.play(&scripts);
        for cell in cells.values() {
            cell.had_no_effect(&field);
        }
        assert!(listener.accept().is_err(), "somebody came through");
        for name in ["port", "host"] {
            cells[name].is_recorded();
        }
        cells["mptcp"].records("socket");
        cells["listen"].said("bind errno 13");
        let listens = cells["listen"].stdout.lines().any(|line| line == "listen allowed");
        let own_network = field.level() != "L1";
        assert!(listens, "Landlock has learnt to refuse it: take the gap off the list");
        assert!(
            own_network || cells["listen"].names_gap("listening on a TCP port"),
            "an open door without a name"
        );
        field.play_one("exec 5<>/dev/tcp/${h%:*}/${h#*:}; exec 5>&-; touch done; exit 0").is_valid();
    }
}

#[test]
fn row_14_sockets_that_are_not_tcp() {
    for field in fields("row 14") {
        let field = field.with_try();
        let attempts = [
            ("sockets", "./try sockets; touch done; exit 0"),
            (
                "look-up",
                "getent hosts secret-label.example.org; (exec 5<>/dev/udp/127.0.0.1/53); touch done; exit 0",
            ),
        ];
        let cells = field.play(&attempts);
        cells["sockets"].had_no_effect(&field).records("socket");
        for line in ["udp errno 1", "raw errno 1", "netlink errno 97", "mptcp errno 93", "vsock errno 97"] {
            cells["sockets"].said(line);
        }
        assert_eq!(cells["sockets"].ending(), "completed", "a call that names nobody is no wandering");
        cells["look-up"].had_no_effect(&field);
        field.play_one("getent hosts localhost; getent passwd root; id; touch done; exit 0").is_valid();
    }
}

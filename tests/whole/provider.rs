//! A provider on loopback that answers what the test says, one connection a request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A request as the provider got it.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// What it answers: status, further headers, body.
pub(crate) type Said = (u16, String, String);

pub(crate) struct Provider {
    pub(crate) base: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Provider {
    /// `answer` gets each model request and its number, from 1; a plain GET of the base URL is answered 404.
    pub(crate) fn start(answer: impl Fn(&Got, usize) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let (kept, answer) = (got.clone(), Arc::new(answer));
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (kept.clone(), answer.clone());
                std::thread::spawn(move || serve(stream, &kept, answer.as_ref()));
            }
        });
        Self { base, got }
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, kept: &Mutex<Vec<Got>>, answer: &dyn Fn(&Got, usize) -> Said) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap_or(0) > 0 && !head.ends_with("\r\n\r\n") {}
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let (status, headers, body) = match head.starts_with("GET ") {
        true => (404, String::new(), "{}".to_owned()),
        false => {
            let got = Got { head, body: serde_json::from_slice(&body).unwrap_or(Value::Null) };
            let number = {
                let mut kept = kept.lock().unwrap();
                kept.push(got.clone());
                kept.len()
            };
            answer(&got, number)
        }
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
}

/// A model that says `text` and is done.
pub(crate) fn says(model: &str, text: &str) -> Said {
    let body = json!({
        "id": "r1", "object": "chat.completion", "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    });
    (200, String::new(), body.to_string())
}

/// A status that is worth another try at once.
pub(crate) fn fails(status: u16) -> Said {
    (status, "retry-after: 0\r\n".to_owned(), "{\"error\":{\"message\":\"down\"}}".to_owned())
}

//! Facts of exchanges that are over, until they are added up: the last ones in memory, the others in a file without a
//! name, so that a recorder does not grow with its attempt and nothing of it is left behind.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Exchange, Offer};

/// Exchanges held in memory before they are written out.
const HELD: usize = 256;
/// Name of the file for the moment between its making and its unlinking.
const NAME: &str = "exchanges.spool";

/// A file that cannot be used, and why.
type SpoolError = (PathBuf, std::io::Error);

/// Exchanges in the order in which they were settled.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    /// Made when there is more than is held in memory.
    file: Option<File>,
    held: Vec<Exchange>,
    /// Each offer of the exchanges that are written out, once.
    offers: Vec<Arc<Offer>>,
}

/// An exchange as it is written out: its offer by number.
#[derive(Serialize, Deserialize)]
struct Line<E> {
    exchange: E,
    offer: Option<usize>,
}

impl Spool {
    /// For an attempt whose files lie in this directory.
    pub(crate) fn of(attempt_dir: &Path) -> Self {
        Self { path: attempt_dir.join(NAME), file: None, held: Vec::new(), offers: Vec::new() }
    }

    /// Adds an exchange.
    pub(crate) fn push(&mut self, exchange: Exchange) -> Result<(), SpoolError> {
        self.held.push(exchange);
        if self.held.len() < HELD {
            return Ok(());
        }
        self.write_out().map_err(|error| (self.path.clone(), error))
    }

    /// All of them, for whoever adds them up.
    pub(crate) fn into_all(mut self) -> Result<Vec<Exchange>, SpoolError> {
        let read = self.read_back();
        let mut all = read.map_err(|error| (self.path, error))?;
        all.append(&mut self.held);
        Ok(all)
    }

    fn write_out(&mut self) -> std::io::Result<()> {
        let mut text = Vec::new();
        for exchange in &self.held {
            let offer = exchange.chat.as_ref().map(|chat| number_of(&mut self.offers, &chat.offer));
            let line = Line { exchange, offer };
            serde_json::to_writer(&mut text, &line).expect("facts are a JSON value");
            text.push(b'\n');
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(unnamed(&self.path)?),
        };
        file.write_all(&text)?;
        self.held.clear();
        Ok(())
    }

    fn read_back(&mut self) -> std::io::Result<Vec<Exchange>> {
        let Some(mut file) = self.file.take() else { return Ok(Vec::new()) };
        file.rewind()?;
        let mut all = Vec::new();
        for line in BufReader::new(file).lines() {
            let Line { mut exchange, offer } = serde_json::from_str::<Line<Exchange>>(&line?)?;
            let offer = offer.and_then(|number| self.offers.get(number));
            if let (Some(chat), Some(offer)) = (&mut exchange.chat, offer) {
                chat.offer = Arc::clone(offer);
            }
            all.push(exchange);
        }
        Ok(all)
    }
}

/// The number of an offer, which it is given when it is new.
fn number_of(offers: &mut Vec<Arc<Offer>>, offer: &Arc<Offer>) -> usize {
    let known = offers.iter().rposition(|known| Arc::ptr_eq(known, offer));
    known.unwrap_or_else(|| {
        offers.push(Arc::clone(offer));
        offers.len() - 1
    })
}

/// A file that is gone once nobody has it open any more.
fn unnamed(path: &Path) -> std::io::Result<File> {
    let file = File::options().read(true).write(true).create_new(true).open(path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::compile::tests::turn;

    #[test]
    fn what_is_written_out_comes_back_as_it_was_and_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::of(dir.path());
        let count = u32::try_from(2 * HELD + 7).unwrap();
        let shared = turn(1, &["bash", "read"], &["bash"], &["bash"]).chat.unwrap().offer;
        let all: Vec<Exchange> = (1..=count)
            .map(|request| {
                let mut exchange = turn(request, &["bash"], &[], &["bash"]);
                if request % 2 == 0 {
                    exchange.chat.as_mut().unwrap().offer = Arc::clone(&shared);
                }
                Exchange {
                    agent: (request % 3 == 0).then(|| "other".into()),
                    waited: Some((0.1, 1.7)),
                    ..exchange
                }
            })
            .collect();
        for exchange in &all {
            spool.push(exchange.clone()).unwrap();
        }
        assert!(spool.held.len() < HELD);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(format!("{:?}", spool.into_all().unwrap()), format!("{all:?}"));
    }
}

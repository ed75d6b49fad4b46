//! Content codings: bodies are forwarded as they came, and read here for accounting. Decoding is bounded: a few bytes that
//! unfold into gigabytes are refused, and nothing is kept of them.
//!
//! Decoders are fed piece by piece, since a compressed event stream must be read while it passes.

use std::io::{self, Write};

use brotli::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// What is read, in the words of a refusal.
pub const READ: &str = "gzip, deflate, br, zstd";
/// Largest window of a zstd frame, as RFC 9659 bounds it for HTTP: 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;
/// Codings of one body that are undone; more than two are nobody's habit.
const LAYERS: usize = 4;
const BROTLI_BUFFER: usize = 8192;

/// A body that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodingError {
    /// A coding that nobody here knows.
    #[error("content-encoding {0:?} cannot be read here ({READ} can); switch it off in the agent")]
    Unknown(String),
    /// It unfolds into more than is kept.
    #[error("the body unfolds into more than {} MiB", .0 >> 20)]
    TooLarge(usize),
    /// The bytes are not what the header says, or end early.
    #[error("the body is not whole {0} data")]
    Broken(String),
}

/// Undoes the codings of a header's value, in the reverse order of their application.
pub struct Decoding {
    layers: Vec<(String, Layer)>,
    cap: usize,
    produced: usize,
}

enum Layer {
    Gzip(MultiGzDecoder<Sink>),
    Zlib(ZlibDecoder<Sink>),
    Deflate(DeflateDecoder<Sink>),
    /// `deflate` names zlib data, but some send it bare: the first byte tells.
    DeflateOfSomeKind,
    Brotli(Box<DecompressorWriter<Sink>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Sink>>),
}

/// Where a decoder writes; full = an error, so that no decoder goes on unfolding.
#[derive(Default)]
struct Sink {
    bytes: Vec<u8>,
    room: usize,
    full: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.room {
            self.full = true;
            return Err(io::Error::other("no room"));
        }
        self.room -= bytes.len();
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoding {
    /// For the value of a `content-encoding` header; `None` when there is nothing to undo. At most `cap` bytes come out.
    pub fn of(value: Option<&str>, cap: usize) -> Result<Option<Self>, CodingError> {
        let names = value.unwrap_or_default().split(',').map(|name| name.trim().to_ascii_lowercase());
        let names: Vec<String> = names.filter(|name| !name.is_empty() && name != "identity").collect();
        if names.len() > LAYERS {
            return Err(CodingError::Unknown(names.join(", ")));
        }
        let mut layers = Vec::new();
        for name in names.into_iter().rev() {
            let layer = Layer::of(&name, cap).ok_or_else(|| CodingError::Unknown(name.clone()))?;
            layers.push((name, layer));
        }
        Ok((!layers.is_empty()).then_some(Self { layers, cap, produced: 0 }))
    }

    /// Takes a piece as it came and gives what it unfolds into so far.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Vec<u8>, CodingError> {
        let mut bytes = piece.to_vec();
        for (name, layer) in &mut self.layers {
            if !bytes.is_empty() {
                bytes = layer.feed(&bytes, self.cap).map_err(|failed| failed.error(name, self.cap))?;
            }
        }
        self.produced += bytes.len();
        if self.produced > self.cap { Err(CodingError::TooLarge(self.cap)) } else { Ok(bytes) }
    }

    /// No more pieces come: the rest, or the word that the data ended early.
    pub fn finish(mut self) -> Result<Vec<u8>, CodingError> {
        let mut rest = Vec::new();
        let cap = self.cap;
        for (name, mut layer) in std::mem::take(&mut self.layers) {
            let mut bytes = match rest.is_empty() {
                true => Vec::new(),
                false => layer.feed(&rest, cap).map_err(|failed| failed.error(&name, cap))?,
            };
            bytes.extend(layer.end(cap).map_err(|failed| failed.error(&name, cap))?);
            rest = bytes;
        }
        if self.produced + rest.len() > cap { Err(CodingError::TooLarge(cap)) } else { Ok(rest) }
    }

    /// A whole body at once.
    pub fn whole(value: Option<&str>, body: &[u8], cap: usize) -> Result<Option<Vec<u8>>, CodingError> {
        let Some(mut decoding) = Self::of(value, cap)? else { return Ok(None) };
        let mut bytes = decoding.feed(body)?;
        bytes.extend(decoding.finish()?);
        if bytes.len() > cap { Err(CodingError::TooLarge(cap)) } else { Ok(Some(bytes)) }
    }
}

/// A decoder that gave up.
enum GaveUp {
    Full,
    Broken,
}

impl GaveUp {
    fn error(self, name: &str, cap: usize) -> CodingError {
        match self {
            Self::Full => CodingError::TooLarge(cap),
            Self::Broken => CodingError::Broken(name.to_owned()),
        }
    }
}

impl Layer {
    fn of(name: &str, cap: usize) -> Option<Self> {
        let sink = Sink { room: cap, ..Sink::default() };
        match name {
            "gzip" | "x-gzip" => Some(Self::Gzip(MultiGzDecoder::new(sink))),
            "deflate" => Some(Self::DeflateOfSomeKind),
            "br" => Some(Self::Brotli(Box::new(DecompressorWriter::new(sink, BROTLI_BUFFER)))),
            "zstd" => {
                let mut decoder = zstd::stream::write::Decoder::new(sink).ok()?;
                decoder.window_log_max(ZSTD_WINDOW_LOG).ok()?;
                Some(Self::Zstd(Box::new(decoder)))
            }
            _ => None,
        }
    }

    fn feed(&mut self, bytes: &[u8], cap: usize) -> Result<Vec<u8>, GaveUp> {
        if let Self::DeflateOfSomeKind = self {
            let sink = Sink { room: cap, ..Sink::default() };
            // RFC 1950: the low half of the first byte is 8 for the one method that zlib knows.
            *self = match bytes.first().is_some_and(|first| first & 0x0f == 8) {
                true => Self::Zlib(ZlibDecoder::new(sink)),
                false => Self::Deflate(DeflateDecoder::new(sink)),
            };
        }
        let written = match self {
            Self::Gzip(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Self::Zlib(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Self::Deflate(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Self::Brotli(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Self::Zstd(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Self::DeflateOfSomeKind => Ok(()),
        };
        self.taken(written)
    }

    /// The end of the data: an error where the format has one and it did not come.
    fn end(mut self, cap: usize) -> Result<Vec<u8>, GaveUp> {
        let ended = match &mut self {
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Zlib(decoder) => decoder.try_finish(),
            Self::Deflate(decoder) => decoder.try_finish(),
            Self::Brotli(decoder) => decoder.close(),
            Self::Zstd(decoder) => decoder.flush(),
            // No byte ever came: an empty body is empty whatever its header says.
            Self::DeflateOfSomeKind => Ok(()),
        };
        let _ = cap;
        self.taken(ended)
    }

    fn taken(&mut self, written: io::Result<()>) -> Result<Vec<u8>, GaveUp> {
        let sink = match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zlib(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.get_mut(),
            Self::DeflateOfSomeKind => return Ok(Vec::new()),
        };
        let full = sink.full;
        let bytes = std::mem::take(&mut sink.bytes);
        match written {
            Ok(()) => Ok(bytes),
            Err(_) if full => Err(GaveUp::Full),
            Err(_) => Err(GaveUp::Broken),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use proptest::prelude::*;

    use super::*;

    const CAP: usize = 1 << 20;

    fn encoded(name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        match name {
            "gzip" => flate2::read::GzEncoder::new(bytes, flate2::Compression::fast())
                .read_to_end(&mut out)
                .unwrap(),
            "deflate" => flate2::read::ZlibEncoder::new(bytes, flate2::Compression::fast())
                .read_to_end(&mut out)
                .unwrap(),
            "bare deflate" => flate2::read::DeflateEncoder::new(bytes, flate2::Compression::fast())
                .read_to_end(&mut out)
                .unwrap(),
            "br" => brotli::CompressorReader::new(bytes, 4096, 5, 20).read_to_end(&mut out).unwrap(),
            "zstd" => zstd::stream::read::Encoder::new(bytes, 3).unwrap().read_to_end(&mut out).unwrap(),
            other => panic!("{other}"),
        };
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn every_coding_comes_back_in_any_pieces(bytes in proptest::collection::vec(any::<u8>(), 1..3000), cut in 1usize..700) {
            for (sent, name) in [("gzip", "gzip"), ("deflate", "deflate"), ("bare deflate", "deflate"), ("br", "br"), ("zstd", "zstd")] {
                let body = encoded(sent, &bytes);
                let mut decoding = Decoding::of(Some(name), CAP).unwrap().unwrap();
                let mut back = Vec::new();
                for piece in body.chunks(cut) {
                    back.extend(decoding.feed(piece).unwrap());
                }
                back.extend(decoding.finish().unwrap());
                prop_assert_eq!(&back, &bytes, "{}", sent);
            }
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_read_and_never_more_than_the_cap(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            for name in ["gzip", "deflate", "br", "zstd", "gzip, br"] {
                if let Ok(Some(read)) = Decoding::whole(Some(name), &bytes, 4096) {
                    prop_assert!(read.len() <= 4096);
                }
            }
        }
    }

    #[test]
    fn layers_are_undone_last_first() {
        let body = encoded("zstd", &encoded("gzip", b"twice"));
        assert_eq!(Decoding::whole(Some("gzip, zstd"), &body, CAP).unwrap().unwrap(), b"twice");
        assert_eq!(Decoding::whole(Some("identity"), b"x", CAP), Ok(None));
        assert_eq!(Decoding::whole(None, b"x", CAP), Ok(None));
        assert!(matches!(Decoding::whole(Some("compress"), b"x", CAP), Err(CodingError::Unknown(_))));
    }

    #[test]
    fn a_bomb_is_refused_and_a_cut_body_is_named() {
        let zeros = vec![0; 8 << 20];
        for name in ["gzip", "deflate", "br", "zstd"] {
            let bomb = encoded(name, &zeros);
            assert!(bomb.len() < 40_000, "{name}: {}", bomb.len());
            assert_eq!(Decoding::whole(Some(name), &bomb, CAP), Err(CodingError::TooLarge(CAP)), "{name}");
        }
        for name in ["gzip", "deflate", "br"] {
            let body = encoded(name, b"some text that is long enough to be cut in the middle of it");
            let cut = &body[..body.len() / 2];
            assert_eq!(
                Decoding::whole(Some(name), cut, CAP),
                Err(CodingError::Broken(name.to_owned())),
                "{name}"
            );
        }
    }
}

//! Who is let through to the upstream: credential, canary, budgets, shape. Everything else is answered here, and recorded.

use std::sync::Arc;

use bench_core::{Ending, EndingKind, LimitHit};
use bench_wire::auxiliary::{auxiliary, counted, counting_field};
use bench_wire::{Api, ModelRequest};
use bytes::Bytes;
use hyper::{HeaderMap, StatusCode, header};

use crate::account::{Unread, let_through};
use crate::classify::{RequestClass, asker, classify};
use crate::coding::CodingError;
use crate::exchange::{Arrival, BodyState};
use crate::facts::Known;
use crate::headers::{self, credential};
use crate::recorder::RecorderSpec;
use crate::reply::error_body;
use crate::shared::{Shared, State};
use crate::upstream::UsageSource;
use crate::weighing::{Load, Weight, weight};

/// End of the path at which our own agent asks the user.
const HUMAN_PATH: &str = "/human";
/// Bytes of a request up to which its tokens are counted although it goes nowhere.
const COUNTED_REFUSAL: usize = 64 << 10;
/// Said to a step that is handed over and of which the task says nothing.
const NOT_TAKEN_OVER: &str = "I cannot do that now. Do what can be done without it.";
/// Said to a plan of which the task says nothing.
const APPROVED: &str = "Go on.";
/// Said to a question for which the task has no answer.
const NO_ANSWER: &str = "I have nothing to add. Take the reading that fits the files best.";

/// What becomes of a request.
pub(crate) enum Admission {
    /// It goes to the upstream.
    Forward(Box<Admitted>),
    /// It goes to the upstream whatever it says, and is read on its way.
    Ahead(Unread),
    /// The recorder answers it.
    Answer(OwnAnswer),
}

/// A request that goes to the upstream.
pub(crate) struct Admitted {
    pub(crate) request: u32,
    pub(crate) class: RequestClass,
    pub(crate) rule: String,
    /// The second agent that asks; none = the main one.
    pub(crate) agent: Option<String>,
    pub(crate) chat: Arc<ModelRequest>,
    /// Known where a cap or the upstream asked for it.
    pub(crate) weight: Option<Weight>,
    pub(crate) known: Known,
    pub(crate) load: Load,
}

/// An answer of the recorder's own.
pub(crate) struct OwnAnswer {
    pub(crate) request: u32,
    pub(crate) class: RequestClass,
    pub(crate) rule: String,
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
    pub(crate) body_tokens: Option<u64>,
}

/// Why a request does not go through.
pub(crate) struct Turned {
    class: RequestClass,
    rule: String,
    status: StatusCode,
    content_type: &'static str,
    body: Bytes,
    ending: Option<Box<Ending>>,
}

impl Turned {
    fn away(status: StatusCode, code: &'static str, message: &str) -> Self {
        Self {
            class: RequestClass::Refused,
            rule: message.to_owned(),
            status,
            content_type: "application/json",
            body: error_body(code, message),
            ending: None,
        }
    }

    fn probe(status: StatusCode, message: &str) -> Self {
        Self { class: RequestClass::Probe, ..Self::away(status, "not_here", message) }
    }

    fn ending(self, ending: Ending) -> Self {
        Self { ending: Some(Box::new(ending)), ..self }
    }

    fn limit(kind: EndingKind, name: &str, value: f64, unit: &str) -> Self {
        let message = format!("the limit of {value} {unit} per attempt (`{name}`) is reached");
        let limit = Some(LimitHit { name: name.to_owned(), value, unit: unit.to_owned() });
        let ending = Ending { limit, ..Ending::because(kind, message.clone()) };
        Self::away(StatusCode::TOO_MANY_REQUESTS, kind.word(), &message).ending(ending)
    }
}

impl Turned {
    /// The whole run's cap: no failure of this attempt, which has no outcome.
    fn run_limit(hit: LimitHit) -> Self {
        let message = format!("the limit of {} {} per run (`{}`) is reached", hit.value, hit.unit, hit.name);
        let ending = Ending { limit: Some(hit), ..Ending::because(EndingKind::Interrupted, message.clone()) };
        Self::away(StatusCode::TOO_MANY_REQUESTS, "run_limit", &message).ending(ending)
    }
}

/// A chat request, read.
pub(crate) struct Read {
    pub(crate) chat: Arc<ModelRequest>,
    pub(crate) content: Bytes,
    pub(crate) weight: Option<(Weight, Option<String>)>,
    /// Headers by which an agent says what a request is for.
    pub(crate) headers: HeaderMap,
}

/// Decides, numbers and traces a request.
pub(crate) async fn admit(shared: &Shared, arrival: &Arrival) -> Admission {
    if let Some(unread) = let_through(shared, arrival) {
        return Admission::Ahead(unread);
    }
    // Reading is the long part: before the lock.
    let mut examined = Some(examine(shared, arrival));
    loop {
        if matches!(examined, Some(Ok(_))) {
            shared.caught_up().await;
        }
        if let Some(admission) = decide(shared, arrival, &mut examined) {
            return admission;
        }
    }
}

/// None when what was asked before is not read yet, and this request's class hangs on it.
fn decide(
    shared: &Shared,
    arrival: &Arrival,
    examined: &mut Option<Result<Read, Turned>>,
) -> Option<Admission> {
    let ended = shared.stop.borrow().is_some();
    let mut state = shared.state();
    if matches!(examined, Some(Ok(_))) && state.unread > *shared.read.borrow() {
        return None;
    }
    let examined = examined.take()?;
    let request = state.next;
    state.next += 1;
    let decided = if ended {
        Err(Turned::away(StatusCode::SERVICE_UNAVAILABLE, "ended", "the attempt has ended"))
    } else {
        within_requests(shared, &state)
            .and(examined)
            .and_then(|read| within_turns(shared, &mut state, &read).map(|class| (read, class)))
    };
    Some(match decided {
        Ok((read, (class, rule))) => {
            state.requests += 1;
            let weight = read.weight.as_ref().map(|(weight, _)| *weight);
            let agent = asker(&read.chat, &read.headers, class, &mut state.unnamed);
            let labels = (request, class.word(), rule.as_str());
            state.trace_request(shared, arrival, labels, (agent.as_deref(), Some(&read.chat.model)));
            let (known, load) = state.know(shared, arrival, &read, (request, class, agent.as_deref()));
            Admission::Forward(Box::new(Admitted {
                request,
                class,
                rule,
                agent,
                chat: read.chat,
                weight,
                known,
                load,
            }))
        }
        Err(turned) => {
            let answered = matches!(
                turned.class,
                RequestClass::Probe | RequestClass::TokenCounting | RequestClass::Human
            );
            state.requests += u32::from(answered);
            let labels = (request, turned.class.word(), turned.rule.as_str());
            state.trace_request(shared, arrival, labels, (headers::agent(&arrival.headers), None));
            drop(state);
            // Counting takes time for which nobody has paid: what is no small request is not counted.
            let small = arrival.content.as_ref().ok().filter(|content| content.len() <= COUNTED_REFUSAL);
            let text = small.and_then(|content| std::str::from_utf8(content).ok());
            let body_tokens = text.map(|text| shared.spec.counter.count(text));
            if let Some(ending) = turned.ending {
                shared.stop_with(*ending);
            }
            Admission::Answer(OwnAnswer {
                request,
                class: turned.class,
                rule: turned.rule,
                status: turned.status,
                content_type: turned.content_type,
                body: turned.body,
                body_tokens,
            })
        }
    })
}

/// What the request alone decides.
fn examine(shared: &Shared, arrival: &Arrival) -> Result<Read, Turned> {
    let (api, content) = passes(shared, arrival)?;
    let chat = ModelRequest::read(api, &arrival.path, content)
        .map_err(|error| Turned::away(StatusCode::BAD_REQUEST, "unreadable", &error.to_string()))?;
    let weight = counts_first(&shared.spec).then(|| weight(&shared.spec.counter, &chat, content));
    Ok(Read { chat: Arc::new(chat), content: content.clone(), weight, headers: arrival.headers.clone() })
}

/// What decides without the request being understood: whose it is, whether it came whole, what must not stand in it.
pub(crate) fn passes<'a>(shared: &Shared, arrival: &'a Arrival) -> Result<(Api, &'a Bytes), Turned> {
    let shown = credential(&arrival.headers).or(arrival.key.as_deref());
    if shown != Some(shared.spec.credential.as_str()) {
        return Err(Turned::away(StatusCode::UNAUTHORIZED, "credential", "not this attempt's credential"));
    }
    match arrival.state {
        BodyState::Whole => {}
        BodyState::TooLarge => {
            let message = "the body, or all those in flight together, are larger than the recorder keeps (64 MiB, 256 MiB)";
            return Err(Turned::away(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
        }
        BodyState::HungUp => {
            let message = "the agent hung up before the body had arrived";
            return Err(Turned::away(StatusCode::BAD_REQUEST, "hung_up", message));
        }
    }
    let content = arrival.content.as_ref().map_err(unreadable)?;
    if shared.holds_canary(&arrival.body) || shared.holds_canary(content) {
        let message = "a hidden file's canary stands in the request";
        let ending = Ending::because(EndingKind::CanarySeen, message);
        return Err(Turned::away(StatusCode::FORBIDDEN, "canary_seen", message).ending(ending));
    }
    Ok((model_call(shared, arrival, content)?, content))
}

/// Must the tokens of a request be known before it goes?
pub(crate) fn counts_first(spec: &RecorderSpec) -> bool {
    let limits = &spec.limits;
    limits.total_tokens.is_some()
        || limits.cost_usd.is_some()
        || spec.spending.run.as_ref().is_some_and(|run| run.asks_what_it_costs())
        || spec.upstream.usage_source() == UsageSource::LocalCount
}

/// A body whose content coding cannot be undone.
fn unreadable(error: &CodingError) -> Turned {
    let status = match error {
        CodingError::Unknown(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        CodingError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        CodingError::Broken(_) => StatusCode::BAD_REQUEST,
    };
    Turned::away(status, "encoding", &error.to_string())
}

/// The API of a model call. Everything else is a probe or a count, answered here or not at all.
fn model_call(shared: &Shared, arrival: &Arrival, content: &[u8]) -> Result<Api, Turned> {
    if arrival.headers.contains_key(header::UPGRADE) {
        return Err(Turned::probe(StatusCode::UPGRADE_REQUIRED, "no other protocol is spoken here"));
    }
    if let Some(field) = counting_field(arrival.method.as_str(), &arrival.path) {
        let text = String::from_utf8_lossy(content);
        let canned = counted(field, shared.spec.counter.count(&text));
        return Err(Turned {
            class: RequestClass::TokenCounting,
            rule: "endpoint that only counts, answered with the local count".to_owned(),
            status: StatusCode::OK,
            content_type: canned.content_type,
            body: canned.body.into(),
            ending: None,
        });
    }
    if arrival.method == hyper::Method::POST && arrival.path.ends_with(HUMAN_PATH) {
        return Err(answered_by_the_user(shared, arrival));
    }
    let api = Api::of_path(&arrival.path).filter(|_| arrival.method == hyper::Method::POST);
    let Some(api) = api else {
        let Some(canned) = auxiliary(arrival.method.as_str(), &arrival.path, &[]) else {
            return Err(Turned::probe(StatusCode::NOT_FOUND, "not an endpoint of this API"));
        };
        return Err(Turned {
            class: RequestClass::Probe,
            rule: "small endpoint, answered from a table".to_owned(),
            status: StatusCode::from_u16(canned.status).unwrap_or(StatusCode::OK),
            content_type: canned.content_type,
            body: canned.body.into(),
            ending: None,
        });
    };
    Ok(api)
}

/// What the task's script says to a question. The script never leaves the harness: who has not asked cannot read it, and
/// whoever asks, agent or shell, is counted.
fn answered_by_the_user(shared: &Shared, arrival: &Arrival) -> Turned {
    let said: serde_json::Value = serde_json::from_slice(&arrival.body).unwrap_or_default();
    let question =
        said.get("question").and_then(serde_json::Value::as_str).unwrap_or_default().to_lowercase();
    let fitting = shared.spec.asks.iter().find(|ask| question.contains(&ask.when.to_lowercase()));
    let (what, usual) = match said.get("kind").and_then(serde_json::Value::as_str) {
        Some("handoff") => ("step handed over to the user", NOT_TAKEN_OVER),
        Some("approval") => ("plan put before the user", APPROVED),
        Some(_) | None => ("question to the user", NO_ANSWER),
    };
    let (how, answer) = match fitting {
        Some(ask) => ("answered by the task's script", ask.answer.as_str()),
        None => ("the task's script has no answer", usual),
    };
    Turned {
        class: RequestClass::Human,
        rule: format!("{what}; {how}"),
        status: StatusCode::OK,
        content_type: "application/json",
        body: serde_json::json!({"answer": answer}).to_string().into(),
        ending: None,
    }
}

pub(crate) fn within_requests(shared: &Shared, state: &State) -> Result<(), Turned> {
    match shared.spec.limits.requests {
        Some(limit) if state.requests >= limit => {
            Err(Turned::limit(EndingKind::RequestBudget, "requests", f64::from(limit), "requests"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Class and rule, if the budgets of turns and tokens allow it.
fn within_turns(shared: &Shared, state: &mut State, read: &Read) -> Result<(RequestClass, String), Turned> {
    // Without a cap that asks for it nothing is put aside: what it cost is added when it is over.
    let input = read.weight.as_ref().map_or(0, |(weight, _)| weight.input_tokens());
    let (class, rule) = classify(&read.chat, &read.headers, state);
    let limits = shared.spec.limits;
    if let Some(limit) =
        limits.turns.filter(|limit| class == RequestClass::AgentTurn && state.turns >= *limit)
    {
        return Err(Turned::limit(EndingKind::TurnBudget, "turns", f64::from(limit), "turns"));
    }
    let aside = shared.spec.spending.aside(&read.chat.model, input);
    if let Some(limit) = limits.cost_usd.filter(|limit| state.bill.usd + aside >= *limit) {
        return Err(Turned::limit(EndingKind::CostBudget, "cost-usd", limit, "USD"));
    }
    if let Some(limit) = limits.total_tokens.filter(|limit| state.tokens + input > *limit) {
        return Err(Turned::limit(EndingKind::TokenBudget, "total-tokens", limit as f64, "tokens"));
    }
    if let Some(run) = &shared.spec.spending.run {
        run.enter(input, aside).map_err(Turned::run_limit)?;
    }
    state.bill.usd += aside;
    state.counts_as_turn(class);
    state.tokens += input;
    Ok((class, rule))
}

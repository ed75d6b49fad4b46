//! What a shape shows: its own tools with what their descriptions declare, made anew for every plan from the tools that
//! code can call at that moment. A tool that the model can call directly is not declared a second time.

use std::collections::BTreeMap;
use std::sync::Arc;

use bench_code::{Callback, FunctionCache, Functions, Globals, Keeps, Prelude};
use bench_core::experiment::Capabilities;
use bench_core::{CodeMode, CodePrelude, CodeShape, CodeSwitch};

use crate::catalogue::ToolDefinition;

/// Owner of the agent's and the extension's functions: their namespace.
pub(crate) const OWN: &str = "agent";

/// A tool that code can call.
#[derive(Debug, Clone)]
pub(crate) struct Bridged {
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) callback: Callback,
}

/// Code mode where it is on.
#[derive(Debug, Clone)]
pub(crate) struct CodeOffer {
    pub(crate) mode: CodeMode,
    /// Every tool that code could call, in the order of the surface.
    pub(crate) bridged: Vec<Bridged>,
    functions: Arc<Functions>,
    cache: Arc<std::sync::Mutex<FunctionCache>>,
}

/// Is code mode shown to a model of these capabilities?
pub(crate) fn is_on(mode: &CodeMode, capabilities: &Capabilities) -> bool {
    match mode.mode {
        CodeSwitch::On => true,
        CodeSwitch::Off => false,
        CodeSwitch::Auto => capabilities.supports_code_mode_only,
    }
}

impl CodeOffer {
    pub(crate) fn of(mode: &CodeMode, capabilities: &Capabilities) -> Option<Self> {
        is_on(mode, capabilities).then(|| Self {
            mode: mode.clone(),
            bridged: Vec::new(),
            functions: Arc::default(),
            cache: Arc::default(),
        })
    }

    /// What code can call while these tools are shown as tools.
    pub(crate) fn plan(&mut self, shown: &[Arc<ToolDefinition>], exists: impl Fn(&str) -> bool) {
        let beside = match self.mode.shape {
            CodeShape::Mixed => true,
            CodeShape::Eval
            | CodeShape::Catalog
            | CodeShape::Filesystem
            | CodeShape::Sidecar
            | CodeShape::Exec => false,
        };
        let is_shown = |name: &str| shown.iter().any(|tool| tool.name == name);
        let callable = self
            .bridged
            .iter()
            .filter(|tool| (beside || !is_shown(&tool.definition.name)) && exists(&tool.definition.name));
        let callbacks: Vec<Callback> = callable.map(|tool| tool.callback.clone()).collect();
        self.functions = self.cache.lock().unwrap_or_else(std::sync::PoisonError::into_inner).of(&callbacks);
    }

    /// What code can call.
    pub(crate) fn functions(&self) -> &Arc<Functions> {
        &self.functions
    }

    /// The definitions of what code can call, by name.
    pub(crate) fn definitions(&self) -> BTreeMap<String, Arc<ToolDefinition>> {
        let callable =
            self.bridged.iter().filter(|tool| self.functions.of_tool(&tool.definition.name).is_some());
        callable.map(|tool| (tool.definition.name.clone(), Arc::clone(&tool.definition))).collect()
    }

    /// A tool of the plan as it is shown: the shape's own with their declarations, in the mixed shape the others with a
    /// word on how code calls them.
    pub(crate) fn dressed(&self, tool: &Arc<ToolDefinition>) -> Arc<ToolDefinition> {
        if self.mode.shape.tools().contains(&tool.name.as_str()) {
            return Arc::new(self.own(tool));
        }
        match (self.mode.shape, self.functions.of_tool(&tool.name)) {
            (CodeShape::Mixed, Some(function)) => {
                let mut dressed = tool.as_ref().clone();
                dressed.description.push_str(&format!(
                    "\n\nFrom code: tools.{}(args: {}): Promise<unknown>",
                    tool.name, function.arguments
                ));
                Arc::new(dressed)
            }
            (
                CodeShape::Mixed
                | CodeShape::Eval
                | CodeShape::Catalog
                | CodeShape::Filesystem
                | CodeShape::Sidecar
                | CodeShape::Exec,
                _,
            ) => Arc::clone(tool),
        }
    }

    fn own(&self, tool: &ToolDefinition) -> ToolDefinition {
        let mut dressed = tool.clone();
        let declared = match self.mode.shape {
            CodeShape::Eval => self.methods(),
            CodeShape::Exec | CodeShape::Mixed => self.methods().replace("const tool:", "const tools:"),
            CodeShape::Catalog => {
                "The functions are listed by list_functions and declared by get_function_details.\n"
                    .to_owned()
            }
            CodeShape::Filesystem => {
                "The functions are declared below /sdk, where execute_bash looks.\n".to_owned()
            }
            CodeShape::Sidecar => format!(
                "Each function takes one object of arguments. `searchTools(words)` and `ALL_TOOLS` tell more. The functions by namespace:\n{}",
                self.functions.names()
            ),
        };
        let preludes: String = self.preludes().iter().map(|prelude| prelude.declaration()).collect();
        dressed.description = dressed
            .description
            .replace("{declarations}", &declared)
            .replace("{functions}", &declared)
            .replace("{preludes}", &preludes)
            .trim_end()
            .to_owned();
        dressed
    }

    fn methods(&self) -> String {
        self.functions.as_methods(OWN, self.mode.inline_bytes)
    }

    /// What a script finds beside its functions.
    pub(crate) fn preludes(&self) -> Vec<Prelude> {
        let of = |prelude: &CodePrelude| match prelude {
            CodePrelude::Output => Prelude::Output,
            CodePrelude::Store => Prelude::Store,
            CodePrelude::Search => Prelude::Search,
        };
        let mut preludes: Vec<Prelude> = self.mode.preludes.iter().map(of).collect();
        match self.mode.shape {
            CodeShape::Exec | CodeShape::Mixed => preludes.push(Prelude::Yield),
            CodeShape::Eval | CodeShape::Catalog | CodeShape::Filesystem | CodeShape::Sidecar => {}
        }
        preludes
    }

    /// Do globals stay from script to script?
    pub(crate) fn keeps(&self) -> Keeps {
        match self.mode.shape {
            CodeShape::Eval => Keeps::State,
            CodeShape::Catalog
            | CodeShape::Filesystem
            | CodeShape::Sidecar
            | CodeShape::Exec
            | CodeShape::Mixed => Keeps::Nothing,
        }
    }

    /// Where functions stand among the globals.
    pub(crate) fn globals(&self) -> Globals {
        match self.mode.shape {
            CodeShape::Eval | CodeShape::Exec | CodeShape::Mixed => Globals::OneObject,
            CodeShape::Catalog | CodeShape::Filesystem | CodeShape::Sidecar => Globals::Namespaces,
        }
    }
}

/** One job: its turns, who waits for whom, and what stands in each prompt. */
import type { Rng } from "../core/random.ts";
import type { Ms, Tokens } from "../core/units.ts";
import type { ToolCall } from "../trace/trace-request.ts";
import type { AgentModel } from "./agent-model.ts";
import { checkTokens, type Bulk } from "./bulk.ts";
import type { BlockNames, Conversation } from "./conversation.ts";
import { sampleInteger } from "./distribution.ts";

export interface DraftTurn {
  /** Position in the job's list. */
  readonly index: number;
  readonly after: readonly number[];
  /** Longest way from a root: equal turns may run side by side. */
  readonly turn: number;
  readonly agent: string;
  readonly prompt_tokens: Tokens;
  readonly blocks: readonly number[];
  readonly output_tokens: Tokens;
  /** Tool time included; `null` for a root. */
  readonly think_ms: Ms | null;
  readonly tool: readonly ToolCall[] | null;
}

/** Prompts that all jobs of a trace begin with. */
export interface SystemPrompts {
  readonly main: Conversation;
  readonly sub: Conversation;
  readonly names: BlockNames;
  /** What the trace holds so far. */
  readonly bulk: Bulk;
}

/** After a compaction the history is a summary of this share of the limit. */
const SUMMARY_SHARE = 1 / 8;

export function buildJob(model: AgentModel, systems: SystemPrompts, rng: Rng): DraftTurn[] {
  return new JobBuilder(model, systems, rng).build();
}

class JobBuilder {
  readonly #model: AgentModel;
  readonly #systems: SystemPrompts;
  readonly #turns: DraftTurn[] = [];
  readonly #lengths: Rng;
  readonly #outputs: Rng;
  readonly #times: Rng;
  readonly #shape: Rng;
  readonly #scale: number;
  readonly #brief: Tokens;

  constructor(model: AgentModel, systems: SystemPrompts, rng: Rng) {
    this.#model = model;
    this.#systems = systems;
    this.#lengths = rng.fork("lengths");
    this.#outputs = rng.fork("outputs");
    this.#times = rng.fork("times");
    this.#shape = rng.fork("shape");
    const draw = rng.fork("job");
    this.#scale = model.jobSigma === 0 ? 1 : draw.logNormal(0, model.jobSigma);
    this.#brief = sampleInteger(model.brief, draw, 0);
    checkTokens("a brief", this.#brief);
  }

  build(): DraftTurn[] {
    if (this.#model.structure === "planner") this.#planner();
    else if (this.#model.structure === "tree") this.#tree();
    else this.#chain(this.#begin(this.#systems.main), this.#turnCount(), [], this.#model.agent);
    return this.#turns;
  }

  /** Turns one after another; returns the last. */
  #chain(base: Conversation, turns: number, parents: readonly number[], agent: string): DraftTurn {
    let history = base.fork();
    let last: DraftTurn | null = null;
    for (let at = 0; at < turns; at++) {
      const fresh = this.#fresh();
      const limit = this.#model.compactAt;
      if (limit !== null && at > 0 && history.tokens + fresh > limit)
        history = base.fork().append(Math.max(1, Math.floor(limit * SUMMARY_SHARE)));
      this.#systems.bulk.add(history.tokens + fresh, this.#systems.names.blockTokens);
      const prompt = history.fork().append(fresh);
      last = this.#add(prompt, last === null ? parents : [last.index], agent);
      if (this.#model.keep === "everything") history = prompt.append(last.output_tokens);
      else if (this.#model.keep === "answers") history.append(last.output_tokens);
    }
    return last as DraftTurn;
  }

  /** A plan, sub-agents side by side with chains of their own, and a turn that joins their answers. */
  #planner(): void {
    const main = this.#begin(this.#systems.main);
    const plan = this.#chain(main, 1, [], this.#model.agent);
    const answers = this.#fan().map(() =>
      this.#chain(this.#begin(this.#systems.sub), this.#turnCount(), [plan.index], this.#model.subAgent),
    );
    const found = answers.reduce((sum, answer) => sum + answer.output_tokens, 0);
    const joint = plan.output_tokens + found;
    this.#systems.bulk.add(main.tokens + joint, this.#systems.names.blockTokens);
    const joined = main.fork().append(joint);
    this.#add(
      joined,
      answers.map((answer) => answer.index),
      this.#model.agent,
    );
  }

  /** Levels of branches side by side, each level judged; the next begins when the judgement is there. */
  #tree(): void {
    let parents: readonly number[] = [];
    for (let level = this.#turnCount(); level > 0; level--) {
      const branches = this.#fan().map(() =>
        this.#chain(this.#begin(this.#systems.sub), 1, parents, this.#model.subAgent),
      );
      const judged = branches.map((branch) => branch.index);
      parents = [this.#chain(this.#begin(this.#systems.main), 1, judged, this.#model.agent).index];
    }
  }

  /** The system prompt and the job's brief: one text for all branches of the job. */
  #begin(system: Conversation): Conversation {
    const known = this.#begun.get(system);
    if (known !== undefined) return known;
    const begun = system.fork().append(this.#brief);
    this.#begun.set(system, begun);
    return begun;
  }
  readonly #begun = new Map<Conversation, Conversation>();

  #add(prompt: Conversation, parents: readonly number[], agent: string): DraftTurn {
    const { model, rng } = { model: this.#model, rng: this.#times };
    const tools: ToolCall[] = [];
    // Drawn for roots, too: a turn more or less never shifts another's times.
    const pause = model.thinkMs.sample(rng);
    const uses = rng.uniform() < model.toolShare;
    const call: ToolCall = { name: rng.pick(model.tools), ms: Math.round(model.toolMs.sample(rng)) };
    if (uses && parents.length > 0) tools.push(call);
    const output_tokens = sampleInteger(model.output, this.#outputs, 1);
    checkTokens("an output", output_tokens);
    const turn: DraftTurn = {
      index: this.#turns.length,
      after: parents,
      turn: parents.reduce((deepest, at) => Math.max(deepest, (this.#turns[at] as DraftTurn).turn + 1), 0),
      agent,
      prompt_tokens: Math.max(1, prompt.tokens),
      blocks: prompt.blocks,
      output_tokens,
      think_ms:
        parents.length === 0 ? null : Math.round(pause) + tools.reduce((sum, tool) => sum + tool.ms, 0),
      tool: tools.length === 0 ? null : tools,
    };
    this.#turns.push(turn);
    return turn;
  }

  #fresh(): Tokens {
    return Math.max(1, Math.round(this.#model.fresh.sample(this.#lengths) * this.#scale));
  }

  #turnCount(): number {
    return this.#fitting(sampleInteger(this.#model.turns, this.#shape, 1));
  }

  #fan(): null[] {
    const { fanOut } = this.#model;
    const length = this.#fitting(fanOut === null ? 1 : sampleInteger(fanOut, this.#shape, 1));
    return Array.from({ length }, () => null);
  }

  #fitting(requests: number): number {
    this.#systems.bulk.expect(requests);
    return requests;
  }
}

/** What a scripted model does next: call this tool with this input. */
export interface Step {
  /** As the client offers it. */
  readonly tool: string
  readonly input: Record<string, unknown>
}

/** What the model is shown in one request. */
export interface Turn {
  readonly tools: readonly string[]
  /** What its tool calls answered so far, as text. */
  readonly outputs: readonly string[]
  /** All else that it was told in the conversation; where a dialect does not look, nothing. */
  readonly told?: readonly string[]
}

/** Plays a model: the next step, or nothing when it is done. */
export type Script = (turn: Turn) => Step | undefined | Promise<Step | undefined>

/** A script that takes these steps, one after the other. */
export function stepByStep(...steps: readonly Step[]): Script {
  return ({ outputs }) => steps[outputs.length]
}

/** A script that calls one tool until another is offered, and then that one: agents see tools come while they work. */
export function onceOffered(wanted: Step, meanwhile: Step): Script {
  let isCalled = false
  return ({ tools }) => {
    if (isCalled) return undefined
    isCalled = tools.includes(wanted.tool)
    return isCalled ? wanted : meanwhile
  }
}

/** An endpoint on loopback that plays a model by a script. */
export interface ScriptedModel {
  readonly url: string
  /** All requests so far. */
  readonly turns: readonly Turn[]
  stop(): Promise<void>
}

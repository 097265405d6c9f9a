import type { Control, ControlOptions } from '../contracts/index.ts'
import type { Runtime } from './runtime.ts'
import { isLocked } from './take-folder.ts'

export interface ReadFirstDeps extends Pick<Runtime, 'readAgain'> {
  readonly core: { readonly catalogue: Pick<Runtime['core']['catalogue'], 'current'> }
}

/**
 * A control for one command that says of no tool that it does not exist, and of no server that nobody has seen it, only because
 * another command had the store when this one began: what is known of servers stands there. It throws `STORE_LOCKED` while that
 * cannot be read, so that whoever asks waits and tries again. `status` and `doctor` answer all the same: they tell how things are.
 */
export function readFirst(control: Control, { core, readAgain }: ReadFirstDeps): Control {
  /** Of a tool that is there nothing more has to be known. */
  async function forTool(name: string): Promise<void> {
    if (!core.catalogue.current().tools.has(name)) await readAgain()
  }

  /** Who cannot be told that it takes a while, as a shell that completes a word, gets what there is. */
  async function forAll(_input: unknown, options: ControlOptions | undefined): Promise<void> {
    if (options?.onProgress) await readAgain().catch(orFewer)
  }

  return {
    ...control,
    tools: after(forAll, control.tools),
    tool: after(({ name }) => forTool(name), control.tool),
    capabilities: after(forAll, control.capabilities),
    agents: after(forAll, control.agents),
    checkAgent: after(forAll, control.checkAgent),
    prompt: after(forAll, control.prompt),
    grant: after(forAll, control.grant),
    recheck: after(forAll, control.recheck),
    call: after(({ tool }) => forTool(tool), control.call),
  }
}

type Operation<I, O> = (input: I, options?: ControlOptions) => Promise<O>

function after<I, O>(first: Operation<I, void>, operation: Operation<I, O>): Operation<I, O> {
  return async (input, options) => {
    await first(input, options)
    return await operation(input, options)
  }
}

/** What else is wrong with the store hides no tool that needs none, and `doctor` tells of it. */
function orFewer(error: unknown): void {
  if (isLocked(error)) throw error
}

import type { Control, ControlOptions } from '../contracts/index.ts'
import { controlAfter } from './control-after.ts'
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
    tools: controlAfter(forAll, control.tools),
    tool: controlAfter(({ name }) => forTool(name), control.tool),
    capabilities: controlAfter(forAll, control.capabilities),
    agents: controlAfter(forAll, control.agents),
    checkAgent: controlAfter(forAll, control.checkAgent),
    prompt: controlAfter(forAll, control.prompt),
    grant: controlAfter(forAll, control.grant),
    recheck: controlAfter(forAll, control.recheck),
    call: controlAfter(({ tool }) => forTool(tool), control.call),
  }
}

/** What else is wrong with the store hides no tool that needs none, and `doctor` tells of it. */
function orFewer(error: unknown): void {
  if (isLocked(error)) throw error
}

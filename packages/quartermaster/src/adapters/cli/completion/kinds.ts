import { Argument, type Command, Option } from 'commander'
import type { AgentControl } from '../../../contracts/index.ts'
import { TextCommand } from '../text-command.ts'

/** What can stand at a place of the command line, beside fixed choices. */
export type CompletionKind = 'tool' | 'agent' | 'capability' | 'upstream' | 'section' | 'anything' | 'files' | 'dirs'

/** An argument that knows what can stand there. */
export class CompletingArgument extends Argument {
  readonly completes: CompletionKind

  constructor(name: string, description: string, completes: CompletionKind) {
    super(name, description)
    this.completes = completes
  }
}

/** An option that knows what its value can be. */
export class CompletingOption extends Option {
  readonly completes: CompletionKind

  constructor(flags: string, description: string, completes: CompletionKind) {
    super(flags, description)
    this.completes = completes
  }
}

/** A command whose own commands are known only to whoever answers. */
export class GrowingCommand extends TextCommand {
  /** Adds them, as far as completing these words needs it. */
  readonly grow: Grow

  constructor(name: string, grow: Grow) {
    super(name)
    this.grow = grow
  }
}

type Grow = (command: Command, control: AgentControl, line: GrowingLine) => Promise<void>

export interface GrowingLine {
  readonly words: readonly string[]
  /** Those that stand behind the command, without its options and their values, and without the one at the cursor. */
  readonly given: readonly string[]
  /** As whom, where the line says it. */
  readonly agent: string | undefined
}

import { Argument, Option } from 'commander'

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

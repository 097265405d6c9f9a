import type { Control, ControlInput, ControlOptions, ControlOutput } from './control.ts'
import type { ResultPage } from './result.ts'

/**
 * As much of `Control` as an agent has of itself. Whom a token speaks for is not said a second time: where it decides, an
 * `agent` in a question is another name for the same one, or refused.
 */
export interface AgentControl extends Pick<Control, 'tools' | 'tool' | 'call' | 'docs'> {
  readonly readResult: (
    input: ControlInput<'readResult'>,
    options?: ControlOptions,
  ) => Promise<Pick<ResultPage, 'text' | 'nextOffset'>>
  /** Without a name, that of whoever asks. */
  readonly prompt: (
    input: Omit<ControlInput<'prompt'>, 'agent'> & { agent?: string | undefined },
    options?: ControlOptions,
  ) => Promise<ControlOutput<'prompt'>>
}

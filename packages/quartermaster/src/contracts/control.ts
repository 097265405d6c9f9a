import { z } from 'zod'
import type { ControlEvent } from './control-event.ts'
import { OPERATION_CONTROL } from './control-operations.ts'
import { PLATFORM_CONTROL } from './control-platform.ts'
import { Finding, ReloadReport, StatusReport } from './control-report.ts'
import { type ControlTable, nothing } from './control-table.ts'
import { TOKEN_CONTROL } from './control-tokens.ts'
import { TOOL_CONTROL } from './control-tools.ts'
import { UPSTREAM_CONTROL } from './control-upstreams.ts'
import { DocsAnswer, DocsQuestion } from './docs.ts'
import { Problem } from './problem.ts'
import type { Answer, UrlQuestion } from './question.ts'
import type { Progress } from './result.ts'
import type { TraceContext } from './trace.ts'

/**
 * Everything a command can ask for, in process or over HTTP. Both sides of the wire are made from this table, so a new
 * operation is one row, in the table of its subject, and its implementation. It is for the owner of the data folder alone,
 * unless its row says `persons`.
 */
export const CONTROL = {
  status: { input: nothing, output: StatusReport },
  ...TOOL_CONTROL,
  ...TOKEN_CONTROL,
  ...PLATFORM_CONTROL,
  ...OPERATION_CONTROL,
  ...UPSTREAM_CONTROL,
  /** Tells what happens, as it happens, until whoever asked goes away or the `up` ends. Only line by line. */
  events: { persons: true, input: nothing, output: z.object({}) },
  /** What is written down, to the owner as a whole, or as an agent reads it. */
  docs: {
    input: DocsQuestion.safeExtend({ agent: z.string().optional(), whole: z.boolean().optional() }),
    output: DocsAnswer,
  },
  /** What is wrong with it. */
  checkDocs: { input: nothing, output: z.object({ units: z.number().int(), problems: z.array(Problem) }) },
  reload: { input: nothing, output: ReloadReport },
  doctor: { input: nothing, output: z.array(Finding) },
  /** Asks an `up` that was started in the background to stop, because a person starts one. */
  stepAside: { input: nothing, output: z.object({ leaving: z.boolean() }) },
} as const satisfies ControlTable

export type ControlOperation = keyof typeof CONTROL

/** The operations that persons may use with tokens of their own. All others are for the owner of the data folder alone. */
export type PersonOperation = {
  [K in ControlOperation]: (typeof CONTROL)[K] extends { readonly persons: true } ? K : never
}[ControlOperation]

export function isForPersons(operation: ControlOperation): operation is PersonOperation {
  return 'persons' in CONTROL[operation]
}

export type ControlInput<K extends ControlOperation> = z.infer<(typeof CONTROL)[K]['input']>
export type ControlOutput<K extends ControlOperation> = z.infer<(typeof CONTROL)[K]['output']>

export interface ControlOptions {
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
  /** Told which upstreams are waited for before anything else can be done, and each time that these are others. */
  onAwaiting?: (upstreams: readonly string[]) => void
  /** Told of each event by the operation that follows them. */
  onEvent?: (event: ControlEvent) => void
  /** Whose trace a call belongs to. */
  trace?: TraceContext
  /**
   * Sends the person who waits to a page that a call asks for. Without it such a call cannot be answered. The signal aborts
   * when the call does not ask for it any more.
   */
  openPage?: (question: UrlQuestion, signal?: AbortSignal) => Promise<Answer>
}

/** The one interface behind every command. */
export type Control = {
  readonly [K in ControlOperation]: (input: ControlInput<K>, options?: ControlOptions) => Promise<ControlOutput<K>>
}

/** As much of it as persons have. */
export type PersonControl = Pick<Control, PersonOperation>

import type { Fault } from './errors.ts'

/** How requests and answers are written: the two ways of the specification over HTTP. */
export interface Binding {
  /** What is asked for. */
  read(request: Request): Promise<{ readonly name: string; readonly params: unknown }>
  /** Learns what an error has to repeat, of a request that was refused before it was read. */
  learn(request: Request): Promise<void>
  toData(result: object): object
  toFault(fault: Fault): object
  statusOf(fault: Fault): number
  readonly contentType: string
}

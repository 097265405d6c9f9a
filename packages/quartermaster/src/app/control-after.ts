import type { ControlOptions } from '../contracts/index.ts'

type Operation<I, O> = (input: I, options?: ControlOptions) => Promise<O>

/** An operation before which something else is done. */
export function controlAfter<I, O>(first: Operation<I, void>, operation: Operation<I, O>): Operation<I, O> {
  return async (input, options) => {
    await first(input, options)
    return await operation(input, options)
  }
}

import { z } from 'zod'
import {
  type AppError,
  ConsentOperation,
  type ErrorBody,
  Issue,
  MissingDependency,
  Problem,
  TravellingResult,
} from '../../contracts/index.ts'

/** The parts of an error's details that people need. Whatever else is there is for programs. */
const Details = {
  missing: z.array(MissingDependency),
  issues: z.array(Issue),
  problems: z.array(Problem),
  operations: z.array(ConsentOperation),
  /** What a tool said whose result does not fit. */
  content: TravellingResult.shape.content,
}

type Details = { readonly [K in keyof typeof Details]: z.infer<(typeof Details)[K]> }

/** One list of an error's details; empty when it has none, or none that we can read. */
export function detail<K extends keyof Details>(error: Pick<ErrorBody, 'details'>, key: K): Details[K] {
  const parsed = Details[key].safeParse(error.details?.[key])
  return (parsed.success ? parsed.data : []) as Details[K]
}

/** The tool an error is about; in a nested call another than the one that was called. */
export function toolOf(error: AppError): string | undefined {
  return typeof error.details?.tool === 'string' ? error.details.tool : undefined
}

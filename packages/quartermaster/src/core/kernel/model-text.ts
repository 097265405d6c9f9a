import type { ErrorBody, ErrorKind } from '../../contracts/index.ts'
import { sentence } from './sentence.ts'

const NEXT_STEP = {
  invalid: 'Correct the arguments first; the same call fails again.',
  unauthenticated: 'A person has to renew the credential.',
  denied: 'Do not try again; tell your person.',
  notFound: 'Look again what there is, and choose one of those.',
  conflict: 'Look at the present state before you try again.',
  gone: 'Start over from the beginning.',
  tooLarge: 'Ask for less.',
  consentRequired: 'A person has to allow it first. Say what you want to do and wait.',
  rateLimited: 'Wait before you try again.',
  cancelled: 'Call again if it is still needed.',
  internal: 'Do not try again; tell your person.',
  unavailable: 'Try again later or use another tool.',
  timeout: 'Ask for less, or try again later.',
} as const satisfies Record<ErrorKind, string>

/** Where the retry advice of a code differs from that of its kind. */
const OTHERWISE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  never: {
    conflict: 'Look at the present state; the same call fails again.',
    unavailable: 'Trying again changes nothing; use another tool, or tell your person.',
  },
  later: {
    denied: 'Try again later, or tell your person.',
    internal: 'Try again later. If it fails again, tell your person.',
  },
}

/** A message that says itself what to do: a question, or a sentence that begins with what to do. */
const ADVICE =
  /(?:^|[.!?:;] )(?:Did you mean|Ask|Begin|Call|Change|Check|Choose|Come back|Correct|Do not|Find|Give|Leave|List|Look|Make|Name|Nothing to do|Put|Read|Repeat|Run|Say|Search|See|Send|Shorten|Start|Take|Tell|Try|Use|Wait|Write)\b/

/** An error as a model reads it: its code, what went wrong, and what to do next, which is said once. */
export function modelText({ code, message, kind, retry }: ErrorBody): string {
  // What may have happened says itself what to look at; "try again later" after it would have it happen twice.
  const next = retry === 'verifyFirst' || ADVICE.test(message) ? undefined : nextStep(kind, retry)
  return next === undefined ? `${code}: ${message}` : `${code}: ${sentence(message)} ${next}`
}

function nextStep(kind: string, retry: string): string | undefined {
  return OTHERWISE[retry]?.[kind] ?? NEXT_STEP[kind as ErrorKind]
}

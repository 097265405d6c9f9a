import type { ErrorBody, ErrorKind } from '../../contracts/index.ts'
import { sentence } from './sentence.ts'

const NEXT_STEP = {
  invalid: 'Correct the arguments and call again.',
  unauthenticated: 'A person has to renew the credential.',
  denied: 'Do not try again; tell the person.',
  notFound: 'Look again what there is, and choose one of those.',
  conflict: 'Look at the present state before you try again.',
  gone: 'Start over from the beginning.',
  tooLarge: 'Ask for less.',
  consentRequired: 'A person has to allow it first. Say what you want to do and wait.',
  rateLimited: 'Wait before you try again.',
  cancelled: 'Call again if it is still needed.',
  internal: 'Try something else; a person has to look into it.',
  unavailable: 'Try again later or use another tool.',
  timeout: 'Ask for less, or try again later.',
} as const satisfies Record<ErrorKind, string>

/** Where the kind alone would have it tried again, and the code says that this is of no use. */
const OTHERWISE: Readonly<Record<string, string>> = {
  unavailable: 'Trying again changes nothing; use another tool, or tell the person.',
}

/** An error as a model reads it: its code, what went wrong, and what to do next. */
export function modelText({ code, message, kind, retry }: ErrorBody): string {
  // What may have happened says itself what to look at; "try again later" after it would have it happen twice.
  const next = retry === 'verifyFirst' ? undefined : nextStep(kind, retry)
  return next === undefined ? `${code}: ${message}` : `${code}: ${sentence(message)} ${next}`
}

function nextStep(kind: string, retry: string): string | undefined {
  return (retry === 'never' ? OTHERWISE[kind] : undefined) ?? NEXT_STEP[kind as ErrorKind]
}

import type { Question } from './scripted-client.ts'

/** A question without what only wraps it: numbers that tell requests apart, and what is said where it is understood. */
export function withoutWrapping({ method, params }: Question): Question {
  const { _meta, mode = 'form', elicitationId: _id, ...rest } = params
  return { method, params: method === 'elicitation/create' ? { mode, ...rest } : rest }
}

/** A text that says which session it belongs to, without that. */
export const withoutSessions = (text: string): string => text.replace(/(?<=session(id)? )[0-9a-f-]{36}/gi, 'ONE')

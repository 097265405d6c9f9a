import type { RemoteState } from './ports.ts'

export const SAID_NOTHING = '(It is done, and nothing was said.)'
export const FORGOTTEN =
  'It does not know the task any more; it may have been restarted. Whether something of it was done is not known: look before you delegate it again.'
export const LEFT_ALONE = 'an external peer could not be told that nobody wants its task any more'
export const ASKS_FOR_MORE = 'It wants to know more, and does not say what.'

/** Why it came to nothing, in its words where it has any. */
export function failureWords(state: RemoteState, said: string): string {
  if (said !== '' && state === 'failed') return said
  const did =
    state === 'rejected'
      ? 'It has not taken the task'
      : state === 'canceled'
        ? 'It has cancelled the task'
        : 'It has failed'
  return said === '' ? `${did}, and does not say why.` : `${did}: ${said}`
}

/** Nobody here can sign in there while a task waits. */
export function needsLogin(peer: string, said: string): string {
  const words = said === '' ? '' : ` It says: ${said}`
  return `It wants somebody to sign in before it goes on, which cannot be done from here.${words} The owner can give "${peer}" a key: \`quartermaster peers remove ${peer}\`, then \`peers add\` with \`--secret\`.`
}

/** What its owner can do about a peer that does not let us in. */
export function notLetIn(peer: string, why: string): string {
  return `${why} The owner keeps its key in secrets.json, and gives it to "${peer}" with \`quartermaster peers remove ${peer}\` and \`peers add … --secret NAME\`.`
}

export function notTaken(peer: string, why: string): string {
  return `Your last message about the task was not taken by "${peer}": ${why}`
}

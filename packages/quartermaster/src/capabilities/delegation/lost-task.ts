import { type Actor, AppError, type DelegationFacts, isAppError } from '../../contracts/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { iso } from './task-notes.ts'

export function isUnknown(error: unknown): error is AppError {
  return isAppError(error) && error.code === 'NAME_UNKNOWN'
}

/** An answer may be lost on its way, and the id of a task with it. So whoever names none of its own is told which are open. */
export function lostTask(
  error: AppError,
  open: readonly DelegationFacts[],
  { workspace }: Pick<Actor, 'workspace'>,
): AppError {
  const lines = open.map(task => lineOf(task, workspace))
  const listed =
    lines.length === 0 ? 'You have no open tasks.' : `Your open tasks, the newest first: ${lines.join('; ')}.`
  const tasks = open.map(({ id, state, from, to, createdAt }) => ({
    id,
    state,
    from,
    to: { id: to.id, name: to.name },
    createdAt,
  }))
  return new AppError('NAME_UNKNOWN', `${error.message} ${listed}`, { details: { ...error.details, open: tasks } })
}

function lineOf({ id, state, from, to, createdAt }: DelegationFacts, own: string): string {
  const side = from.name === own ? `given to ${literal(to.name)}` : `taken from ${literal(from.name)}`
  return `${id}, ${side} at ${iso(createdAt)}, ${state}`
}

const literal = (name: string) => escapeLine(JSON.stringify(name))

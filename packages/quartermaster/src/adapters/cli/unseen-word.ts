import { type AgentControl, AppError, type Control, isAppError } from '../../contracts/index.ts'
import { sentence } from '../../core/kernel/index.ts'
import type { Session } from './session.ts'
import { unseenAmong } from './upstream-text.ts'

/** A server of which nobody has seen yet what it has, and why. */
interface Unseen {
  readonly name: string
  readonly reason: string
}

export interface AskedForWord {
  readonly word: string
  readonly control: Pick<AgentControl, 'prompt'>
  /** Absent where a token says who asks. */
  readonly owner: Pick<Control, 'upstreams'> | undefined
}

/** Why no tool has a word: one that nobody has seen yet may have it, and whoever wrote the word cannot know that. */
export async function withUnseen(session: Session, error: unknown, asked: AskedForWord): Promise<unknown> {
  if (!isAppError(error) || error.code !== 'NAME_UNKNOWN') return error
  // What is in the way of this is told by whoever is asked for it.
  const unseen = await session.attend('Looking', () => unseenFor(session, asked)).catch(() => [])
  if (unseen.length === 0) return error
  return new AppError(error.code, `${error.message} ${unseenText(unseen, asked)}`)
}

/** Those that were to be met have been by now: this waits for none. */
async function unseenFor({ host: { signal } }: Session, { control, owner }: AskedForWord): Promise<Unseen[]> {
  if (owner) {
    const statuses = await owner.upstreams({}, { signal })
    return unseenAmong(statuses).map(({ name, reason, fix }) => ({ name, reason: `${sentence(reason)} ${fix}` }))
  }
  const { unseen = [] } = await control.prompt({}, { signal })
  return unseen.map(({ capability: name, reason }) => ({ name, reason: sentence(reason) }))
}

function unseenText(unseen: readonly Unseen[], { word, owner }: AskedForWord): string {
  const own = unseen.find(({ name }) => word === name || word.startsWith(`${name}-`) || word.startsWith(`${name}_`))
  if (own) return `"${own.name}" has not been seen yet, so its commands are not known: ${own.reason}`
  const names = unseen.map(({ name }) => `"${name}"`).join(', ')
  const [have, their] = unseen.length === 1 ? ['has', 'its'] : ['have', 'their']
  return `${names} ${have} not been seen yet, so ${their} commands are not known${owner ? ': quartermaster upstreams' : '.'}`
}

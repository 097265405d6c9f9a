import type { Control } from '../../contracts/index.ts'
import type { Session } from './session.ts'
import { unseenAmong, unseenText } from './upstream-text.ts'

/**
 * What is to be said of servers that a command without an `up` has begun to start, and waits for no longer: of what it shows, what
 * they have is missing.
 */
export async function leftStartingText({ from }: Session, control: Pick<Control, 'upstreams'>): Promise<string> {
  if (from !== 'process') return ''
  // Whoever asked has been answered already, and `upstreams` tells what is wrong here.
  const statuses = await control.upstreams({}).catch(() => [])
  return unseenText(unseenAmong(statuses.filter(({ state }) => state === 'starting')))
}

import type { Control, UpstreamStatus } from '../../contracts/index.ts'
import type { Session } from './session.ts'
import { unseenAmong, unseenText } from './upstream-text.ts'

/**
 * What is to be said of servers that nobody has seen yet, where no `up` goes on with them: of what a command shows, what they have
 * is missing. Where it shows one capability, only of that.
 */
export async function leftUnseenText(
  { from }: Session,
  control: Pick<Control, 'upstreams'>,
  only?: string,
): Promise<string> {
  if (from !== 'process') return ''
  // Whoever asked has been answered already, and `upstreams` tells what is wrong here.
  const statuses = await control.upstreams({}).catch(() => [])
  const isLeft = ({ name, state }: UpstreamStatus) => state !== 'up' && (only === undefined || name === only)
  return unseenText(unseenAmong(statuses.filter(isLeft)))
}

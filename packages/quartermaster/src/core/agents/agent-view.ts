import type { AgentView } from '../../contracts/index.ts'
import type { Seat } from './seat.ts'

/** Everything that whoever has this seat can do now, in words. */
export function agentViewOf(seat: Seat): AgentView {
  return { agent: seat.caller.name, ...seat.view().facts() }
}

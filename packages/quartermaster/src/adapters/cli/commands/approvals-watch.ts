import {
  type ApprovalSummary,
  type ControlEvent,
  type ControlInput,
  DEFAULT_ORGANISATION,
  type PersonControl,
} from '../../../contracts/index.ts'
import { approvalLine } from '../approval-text.ts'
import { EXIT, UsageError } from '../errors.ts'
import { escapeLine, toJsonText } from '../escape.ts'
import type { Session } from '../session.ts'

type Wanted = ControlInput<'approvals'>

/** Shows what waits, and then each request and each answer as it comes, until Ctrl-C or the end of the `up`. */
export async function watchApprovals(session: Session, wanted: Wanted): Promise<number> {
  return await session.connectAsPerson(async control => {
    if (session.from !== 'up') throw new UsageError('--watch needs a running "up": nobody else hears of what is asked.')
    const watch = createWatch(session, control, whatCounts(session, wanted))
    // Ctrl-C is how this ends and no failure.
    await Promise.race([follow(session, control, watch.tell), watch.failed]).catch(error => {
      if (!session.host.signal.aborted) throw error
    })
    await watch.printed()
    if (!session.host.signal.aborted) await session.notices.write('The "up" has ended.\n')
    return EXIT.done
  })
}

function follow({ host, untilAborted }: Session, control: PersonControl, onEvent: (event: ControlEvent) => void) {
  return untilAborted(control.events({}, { signal: host.signal, onEvent }))
}

/** One after the other, in the order in which they happened. */
function createWatch(session: Session, control: PersonControl, wanted: Wanted) {
  const shown = new Set<string>()
  let printing: Promise<void> = Promise.resolve()
  let fail: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })

  async function open(approvals: readonly ApprovalSummary[]): Promise<void> {
    for (const approval of approvals.filter(({ id }) => !shown.has(id))) {
      shown.add(approval.id)
      const { id, tool, createdAt: at } = approval
      const event = { name: 'approval.opened', at, id, tool, agent: approval.agent, asks: approval.asks } as const
      await write(session, event, `asks  ${approvalLine(approval)}`)
    }
  }

  async function print(event: ControlEvent): Promise<void> {
    if (isOther(event, wanted)) return
    // Everything that waits by now: nothing is missed between looking and listening.
    if (event.name === 'events.started' || event.name === 'approval.opened')
      return open(await control.approvals(wanted))
    // The same operation may ask again.
    if (event.name === 'approval.answered' || event.name === 'approval.closed') shown.delete(event.id)
    const line = lineOf(event)
    if (line !== undefined) await write(session, event, line)
  }

  return {
    tell(event: ControlEvent): void {
      printing = printing.then(() => print(event)).catch(fail)
    },
    printed: () => printing,
    /** Rejects when what is to be shown cannot be had: nobody should go on looking at a silent screen. */
    failed,
  }
}

/** The owner hears of all organisations, and means the first where none is named. A person hears of their own alone. */
function whatCounts({ host }: Session, wanted: Wanted): Wanted {
  const isOwner = host.io.env.QUARTERMASTER_TOKEN === undefined
  return isOwner ? { organisation: DEFAULT_ORGANISATION, ...wanted } : wanted
}

function isOther(event: ControlEvent, { agent, organisation }: Wanted): boolean {
  if (agent !== undefined && 'agent' in event && event.agent !== agent) return true
  return (
    organisation !== undefined &&
    'organisation' in event &&
    (event.organisation ?? DEFAULT_ORGANISATION) !== organisation
  )
}

async function write({ out, json }: Session, event: object, line: string): Promise<void> {
  await out.write(json ? `${toJsonText(event, { pretty: false })}\n` : `${escapeLine(line)}\n`)
}

function lineOf(event: ControlEvent): string | undefined {
  switch (event.name) {
    case 'approval.answered':
      return `${event.state}  ${event.tool} of ${event.agent}, by ${event.by.name} (${event.id})`
    case 'approval.closed':
      return `over  ${event.tool} of ${event.agent}; nobody answered (${event.id})`
    case 'grants.revoked':
      return `taken back  ${event.count === 1 ? '1 grant' : `${event.count} grants`}, by ${event.by}`
    default:
      return undefined
  }
}

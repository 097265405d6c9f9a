import type { ApprovalFacts, ApprovalSummary, ConsentAsk, GrantFacts, Weight } from '../../../../contracts/index.ts'
import { consentText, scopeText, WEIGHT_STYLES } from '../../ask.ts'
import { renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/terminal.ts'
import { escapeLine } from '../../output/terminal.ts'
import { agoText, aheadInWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export function approvalsText(approvals: readonly ApprovalSummary[], { out, host }: Session): string {
  const now = host.clock.now()
  const rows = approvals.map(({ id, agent, tool, asks, createdAt, expiresAt, calls }) => {
    const weight = heaviest(asks)
    return [
      id,
      agent,
      tool,
      { text: weight, style: out.paint[WEIGHT_STYLES[weight]] },
      `${asks.map(askInShort).join(', ')}${callsText(calls)}`,
      agoText(createdAt, now),
      aheadText(expiresAt, now),
    ]
  })
  const columns = ['Id', 'Agent', 'Tool', 'Weight', { wraps: 'Asks for' }, 'Asked', 'Expires']
  return renderTable(columns, rows, out)
}

/** One waiting approval in a line. */
export function approvalLine({ id, agent, tool, asks }: ApprovalSummary): string {
  return `${tool} of ${agent} (${heaviest(asks)}): ${asks.map(askInShort).join(', ')} (${id})`
}

/** Everything about one approval, for the person who decides. */
export function approvalText(facts: ApprovalFacts, { host }: Session, printer: Printer): string {
  const { id, agent, tool, asks, createdAt, expiresAt, state, calls } = facts
  const now = host.clock.now()
  const verb = state === 'open' ? 'asks' : 'asked'
  const title = `${escapeLine(tool)}, called by ${escapeLine(agent)}, ${verb} for your consent:`
  const asked = `Asked ${agoText(createdAt, now)}${callsText(calls)}`
  const end =
    state === 'open' ? `${asked}; expires ${aheadText(expiresAt, now)}.` : `${asked}. ${answerText(facts, now)}`
  return `${consentText({ title, asks, input: facts.arguments }, printer)}${escapeLine(`${end} (${id})`)}\n`
}

export function grantsText(grants: readonly GrantFacts[], { out, host }: Session): string {
  const now = host.clock.now()
  const rows = grants.map(grant => [
    grant.id,
    grant.agent,
    { text: grant.decision, style: out.paint[grant.decision === 'allow' ? 'green' : 'red'] },
    grant.operation,
    resourceText(grant),
    LASTS[grant.lasting],
    byText(grant.grantedBy, grant.via),
    aheadText(grant.expiresAt, now),
  ])
  const columns = ['Id', 'Agent', 'Decision', 'Operation', { wraps: 'For' }, 'Lasts', 'Given by', 'Ends']
  return renderTable(columns, rows, out)
}

/** Equal calls share one approval. */
function callsText(calls = 1): string {
  return calls === 1 ? '' : ` by ${calls} equal calls`
}

const ORDER = ['low', 'moderate', 'high'] as const satisfies Weight[]

function heaviest(asks: readonly ConsentAsk[]): Weight {
  return ORDER[Math.max(0, ...asks.map(({ weight }) => ORDER.indexOf(weight)))] ?? 'high'
}

function askInShort({ operation, scope }: ConsentAsk): string {
  return scope === null ? operation : `${operation} for ${scopeText(scope)}`
}

const LASTS = { once: 'one call', time: 'a time', always: 'always' } as const

function resourceText({ lasting, tool = '', scope, isUnnamed }: GrantFacts): string {
  const everything = isUnnamed ? 'what names no resource' : 'everything'
  const resource = scope === undefined ? everything : scopeText(scope)
  return lasting === 'once' ? `${tool}, ${resource}` : resource
}

function byText(name: string, via: GrantFacts['via'] = 'owner'): string {
  return via === 'owner' ? name : `${name} (${via})`
}

function answerText({ state, answeredBy, answeredAt, via, lasting }: ApprovalFacts, now: number): string {
  if (answeredBy === undefined || answeredAt === undefined) return 'It expired or was cancelled without an answer.'
  return `It was ${state} by ${byText(answeredBy, via)} ${agoText(answeredAt, now)}, for ${LASTS[lasting ?? 'once']}.`
}

function aheadText(time: number, now: number): string {
  return time <= now ? 'now' : `in ${aheadInWords(time - now)}`
}

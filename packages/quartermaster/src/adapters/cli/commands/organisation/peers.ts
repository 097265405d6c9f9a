import { Option } from 'commander'
import { EXTERNAL_PEER_CAPACITY, type ExternalPeerFacts } from '../../../../contracts/index.ts'
import { type Answer, controlCommand, resourceCommands } from '../../command.ts'
import { organisationOption, parentOption, repeated, wholeNumber } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { fields, renderTable } from '../../output/layout.ts'
import { agoText } from '../../output/units.ts'
import type { Session } from '../../session.ts'

const hints = () => ({ listing: ['peers', 'list'] })
const ONE = [['<PEER>', 'by its id or name', 'id']] as const
const { usual, most } = EXTERNAL_PEER_CAPACITY

export const registerPeers = resourceCommands(
  [
    'peers',
    'Make A2A agents elsewhere peers, so that workspaces give them tasks.',
    'add | list | show | refresh | remove [options]',
  ],
  [
    controlCommand({
      name: 'add',
      description: 'Make an A2A agent a peer. Its card is looked at first.',
      operation: 'addExternalPeer',
      arguments: [
        ['<NAME>', 'what it is called here', 'name'],
        ['<URL>', 'where its card is, or the agent itself', 'cardUrl'],
      ],
      options: [
        parentOption(),
        new Option('--role <TEXT>', 'what it is there for'),
        new Option('--secret <NAME>', 'the secret that lets us in there, by its name in secrets.json'),
        new Option('--header <NAME>', 'the header that the secret is sent in; as a bearer token without'),
        new Option('--host <HOST>', 'a host inside this network that its card may name, once for each').argParser(
          repeated,
        ),
        new Option(
          '--capacity <NUMBER>',
          `how many tasks it is given at a time, up to ${most}; ${usual} without`,
        ).argParser(wholeNumber(1, most)),
        organisationOption(),
      ],
      keys: { host: 'hosts' },
      examples: [
        ['quartermaster peers add painter https://agents.example.com/painter', 'one that everybody may ask'],
        ['quartermaster peers add painter https://agents.example.com/painter --secret PAINTER', 'one that wants a key'],
      ],
      label: 'Looking at its card',
      answer: (made, session) => outcome(session, made, `"${made.name}" is a peer: ${made.id}`),
    }),
    controlCommand({
      name: 'list',
      description: 'List the A2A agents elsewhere that are peers.',
      operation: 'externalPeers',
      options: [organisationOption()],
      examples: [['quartermaster peers list', 'all of them, and whether they are there']],
      answer: (found, session) =>
        found.length === 0
          ? { notice: 'There are none. Add one: quartermaster peers add NAME URL\n' }
          : { text: listText(found, session) },
    }),
    controlCommand({
      name: 'show',
      description: 'Show one of them, with what its card says.',
      operation: 'externalPeer',
      arguments: ONE,
      options: [organisationOption()],
      examples: [['quartermaster peers show painter', 'where it is, and what it can do']],
      hints,
      answer: (found, { host, out }) => ({ text: fields(factsOf(found, host.clock.now()), out) }),
    }),
    controlCommand({
      name: 'refresh',
      description: 'Look at the card of one now. This happens automatically every ten minutes.',
      operation: 'refreshExternalPeer',
      arguments: ONE,
      options: [organisationOption()],
      examples: [['quartermaster peers refresh painter', 'after it has moved, or learnt something']],
      label: 'Looking at its card',
      hints,
      answer: (seen, session) =>
        outcome(
          session,
          seen,
          seen.error === null ? `"${seen.name}" is there.` : `"${seen.name}" is not there: ${seen.error}`,
        ),
    }),
    controlCommand({
      name: 'remove',
      description: 'Take one out. What it has not done yet fails, and is cancelled there.',
      operation: 'removeExternalPeer',
      arguments: ONE,
      options: [organisationOption()],
      examples: [['quartermaster peers remove painter', 'it can be added again under its name']],
      label: 'Taking it out',
      hints,
      answer: (gone, session) => outcome(session, gone, `"${gone.name}" is no peer any more.`),
    }),
  ],
)

function outcome({ out }: Session, { error }: ExternalPeerFacts, text: string): Answer {
  return { text: `${error === null ? out.paint.green('✓') : '✗'} ${escapeLine(text)}\n` }
}

function listText(peers: readonly ExternalPeerFacts[], { out }: Session): string {
  const columns = [{ title: 'Peer' }, { title: 'Presence' }, { title: 'Id' }, { title: 'Address', flexible: true }]
  const rows = peers.map(({ name, presence, id, url }) => ({ cells: [name, presence, id, url] }))
  return renderTable({ columns, rows }, out)
}

function factsOf(facts: ExternalPeerFacts, now: number): (readonly [string, string | undefined])[] {
  const { secret, header } = facts
  return [
    ['Peer', facts.name],
    ['Id', facts.id],
    ['Organisation', facts.organisation],
    ['Role', facts.role],
    ['Description', facts.description ?? undefined],
    ['Below', facts.parent?.name],
    ['Status', facts.status],
    ['Presence', facts.presence],
    ['Capacity', facts.capacity === null ? undefined : String(facts.capacity)],
    ['Card', facts.cardUrl],
    ['Address', `${facts.url} (${facts.binding}, ${facts.streaming ? 'streaming' : 'asked'})`],
    ['Secret', secret === null ? undefined : `${secret}, sent as ${header ?? 'a bearer token'}`],
    ['Hosts', facts.hosts.join(', ')],
    ['Skills', facts.skills.map(({ name }) => name).join(', ')],
    ['Card seen', agoText(facts.checkedAt, now)],
    ['Error', facts.error ?? undefined],
  ]
}

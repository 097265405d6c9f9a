import { Option } from 'commander'
import { EXTERNAL_PEER_CAPACITY, type ExternalPeerFacts } from '../../../../contracts/index.ts'
import { type Answer, controlCommand, resourceCommands } from '../../command.ts'
import { organisationOption, parentOption, repeated, wholeNumber } from '../../options.ts'
import { fields, renderTable } from '../../output/layout.ts'
import { escapeLine } from '../../output/terminal.ts'
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
      description: 'Make an A2A agent a peer. Its card is read first.',
      operation: 'addExternalPeer',
      arguments: [
        ['<NAME>', 'what it is called here', 'name'],
        ['<URL>', 'the address of its card, or of the agent itself', 'cardUrl'],
      ],
      options: [
        parentOption(),
        new Option('--role <TEXT>', 'what it is for'),
        new Option('--secret <NAME>', 'the secret to sign in with, by its name in secrets.json'),
        new Option('--header <NAME>', 'the header for the secret (default: as a bearer token)'),
        new Option('--host <HOST>', 'a host inside this network that its card may name, once for each').argParser(
          repeated,
        ),
        new Option(
          '--capacity <NUMBER>',
          `how many tasks it is given at a time, up to ${most} (default: ${usual})`,
        ).argParser(wholeNumber(1, most)),
        organisationOption(),
      ],
      input: ({ host: hosts, ...given }) => ({ ...given, hosts }),
      examples: [
        ['quartermaster peers add painter https://agents.example.com/painter', 'one that everybody may ask'],
        ['quartermaster peers add painter https://agents.example.com/painter --secret PAINTER', 'one that wants a key'],
      ],
      label: 'Reading its card',
      answer: (made, session) => outcome(session, made, `"${made.name}" is a peer: ${made.id}`),
    }),
    controlCommand({
      name: 'list',
      description: 'List the A2A agents elsewhere that are peers.',
      operation: 'externalPeers',
      options: [organisationOption()],
      examples: [['quartermaster peers list', 'all of them, and whether they are there']],
      answer: (found, { out }) =>
        found.length === 0
          ? { notice: 'There are none. Add one: quartermaster peers add NAME URL\n' }
          : {
              text: renderTable(
                ['Peer', 'Presence', 'Id', { wraps: 'Address' }],
                found.map(({ name, presence, id, url }) => [name, presence, id, url]),
                out,
              ),
            },
    }),
    controlCommand({
      name: 'show',
      description: 'Show a peer, with what its card says.',
      operation: 'externalPeer',
      arguments: ONE,
      options: [organisationOption()],
      examples: [['quartermaster peers show painter', 'where it is, and what it can do']],
      hints,
      answer: (found, { host, out }) => ({ text: fields(factsOf(found, host.clock.now()), out) }),
    }),
    controlCommand({
      name: 'refresh',
      description: 'Read the card of a peer now. This happens automatically every ten minutes.',
      operation: 'refreshExternalPeer',
      arguments: ONE,
      options: [organisationOption()],
      examples: [['quartermaster peers refresh painter', 'after it moved or has new skills']],
      label: 'Reading its card',
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
      description: 'Remove a peer. Its unfinished tasks fail, and are cancelled there.',
      operation: 'removeExternalPeer',
      arguments: ONE,
      options: [organisationOption()],
      examples: [['quartermaster peers remove painter', 'it can be added again under its name']],
      label: 'Removing',
      hints,
      answer: (gone, session) => outcome(session, gone, `"${gone.name}" is no peer any more.`),
    }),
  ],
)

function outcome({ out }: Session, { error }: ExternalPeerFacts, text: string): Answer {
  return { text: `${error === null ? out.paint.green('✓') : '✗'} ${escapeLine(text)}\n` }
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

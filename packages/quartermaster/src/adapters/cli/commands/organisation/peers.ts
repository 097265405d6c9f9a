import { Option } from 'commander'
import { type ControlInput, EXTERNAL_PEER_CAPACITY, type ExternalPeerFacts } from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { defined, organisationOption, parentOption, wholeNumber } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { fields, renderTable } from '../../output/layout.ts'
import { inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export const registerPeers: Register = (program, act) => {
  const peers = program
    .command('peers')
    .description('Make A2A agents elsewhere peers, so that workspaces give them tasks.')
    .usage('add | list | show | refresh | remove [options]')
  registerAdd(peers, act)
  registerList(peers, act)
  registerShow(peers, act)
  registerRefresh(peers, act)
  registerRemove(peers, act)
}

const registerAdd: Register = (peers, act) => {
  const add = peers
    .command('add')
    .description('Make an A2A agent a peer. Its card is looked at first.')
    .argument('<NAME>', 'what it is called here')
    .argument('<URL>', 'where its card is, or the agent itself')
    .addOption(parentOption())
    .option('--role <TEXT>', 'what it is there for')
    .option('--secret <NAME>', 'the secret that lets us in there, by its name in secrets.json')
    .option('--header <NAME>', 'the header that the secret is sent in; as a bearer token without')
    .addOption(hostOption())
    .addOption(capacityOption())
    .addOption(organisationOption())
    .action((name: string, cardUrl: string, { host, ...options }: AddOptions) =>
      act(session => addPeer(session, defined({ name, cardUrl, hosts: host, ...options }))),
    )
  addExamples(add, [
    ['quartermaster peers add painter https://agents.example.com/painter', 'one that everybody may ask'],
    ['quartermaster peers add painter https://agents.example.com/painter --secret PAINTER', 'one that wants a key'],
  ])
}

const registerList: Register = (peers, act) => {
  const list = peers
    .command('list')
    .description('List the A2A agents elsewhere that are peers.')
    .addOption(organisationOption())
    .action((options: Within) => act(session => listPeers(session, defined({ ...options }))))
  addExamples(list, [['quartermaster peers list', 'all of them, and whether they are there']])
}

const registerShow: Register = (peers, act) => {
  const show = peers
    .command('show')
    .description('Show one of them, with what its card says.')
    .argument('<PEER>', 'by its id or name')
    .addOption(organisationOption())
    .action((id: string, options: Within) => act(session => showPeer(session, defined({ id, ...options }))))
  addExamples(show, [['quartermaster peers show painter', 'where it is, and what it can do']])
}

const registerRefresh: Register = (peers, act) => {
  const refresh = peers
    .command('refresh')
    .description('Look at the card of one now. This happens automatically every ten minutes.')
    .argument('<PEER>', 'by its id or name')
    .addOption(organisationOption())
    .action((id: string, options: Within) => act(session => refreshPeer(session, defined({ id, ...options }))))
  addExamples(refresh, [['quartermaster peers refresh painter', 'after it has moved, or learnt something']])
}

const registerRemove: Register = (peers, act) => {
  const remove = peers
    .command('remove')
    .description('Take one out. What it has not done yet fails, and is cancelled there.')
    .argument('<PEER>', 'by its id or name')
    .addOption(organisationOption())
    .action((id: string, options: Within) => act(session => removePeer(session, defined({ id, ...options }))))
  addExamples(remove, [['quartermaster peers remove painter', 'it can be added again under its name']])
}

interface Within {
  organisation?: string
}

interface AddOptions extends Within {
  parent?: string
  role?: string
  secret?: string
  header?: string
  host?: string[]
  capacity?: number
}

function hostOption(): Option {
  const text = 'a host inside this network that its card may name, once for each'
  return new Option('--host <HOST>', text).argParser((host: string, before: string[] = []) => [...before, host])
}

function capacityOption(): Option {
  const { usual, most } = EXTERNAL_PEER_CAPACITY
  return new Option(
    '--capacity <NUMBER>',
    `how many tasks it is given at a time, up to ${most}; ${usual} without`,
  ).argParser(wholeNumber(1, most))
}

async function addPeer(session: Session, input: ControlInput<'addExternalPeer'>): Promise<number> {
  const made = await session.connect(control =>
    session.attend('Looking at its card', on => control.addExternalPeer(input, on)),
  )
  return say(session, made, `"${made.name}" is a peer: ${made.id}`)
}

async function listPeers(session: Session, input: ControlInput<'externalPeers'>): Promise<number> {
  const found = await session.connect(control => session.attend('Looking', on => control.externalPeers(input, on)))
  if (session.json) await session.printJson(found)
  else if (found.length === 0)
    await session.notices.write('There are none. Add one: quartermaster peers add NAME URL\n')
  else await session.out.write(listText(found, session))
  return EXIT.done
}

function listText(peers: readonly ExternalPeerFacts[], { out }: Session): string {
  const columns = [{ title: 'Peer' }, { title: 'Presence' }, { title: 'Id' }, { title: 'Address', flexible: true }]
  const rows = peers.map(({ name, presence, id, url }) => ({ cells: [name, presence, id, url] }))
  return renderTable({ columns, rows }, out)
}

async function showPeer(session: Session, input: ControlInput<'externalPeer'>): Promise<number> {
  session.hints = { listing: ['peers', 'list'] }
  const found = await session.connect(control => session.attend('Looking', on => control.externalPeer(input, on)))
  if (session.json) await session.printJson(found)
  else await session.out.write(fields(factsText(found, session.host.clock.now()), session.out))
  return EXIT.done
}

function factsText(facts: ExternalPeerFacts, now: number): (readonly [string, string | undefined])[] {
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
    ['Card seen', `${inWords(Math.max(0, now - facts.checkedAt))} ago`],
    ['Error', facts.error ?? undefined],
  ]
}

async function refreshPeer(session: Session, input: ControlInput<'refreshExternalPeer'>): Promise<number> {
  session.hints = { listing: ['peers', 'list'] }
  const seen = await session.connect(control =>
    session.attend('Looking at its card', on => control.refreshExternalPeer(input, on)),
  )
  const text = seen.error === null ? `"${seen.name}" is there.` : `"${seen.name}" is not there: ${seen.error}`
  return say(session, seen, text)
}

async function removePeer(session: Session, input: ControlInput<'removeExternalPeer'>): Promise<number> {
  session.hints = { listing: ['peers', 'list'] }
  const gone = await session.connect(control =>
    session.attend('Taking it out', on => control.removeExternalPeer(input, on)),
  )
  return say(session, gone, `"${gone.name}" is no peer any more.`)
}

async function say(session: Session, facts: ExternalPeerFacts, text: string): Promise<number> {
  const { out } = session
  if (session.json) await session.printJson(facts)
  else await out.write(`${facts.error === null ? out.paint.green('✓') : '✗'} ${escapeLine(text)}\n`)
  return EXIT.done
}

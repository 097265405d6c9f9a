import { describe, expect, it } from 'vitest'
import { openDataFolder } from '../../adapters/data-folder/index.ts'
import { CONFIG, upstreamFixture as desk } from '../../testing/upstream-fixture.ts'

const NOTES = { files: { [CONFIG]: '{ "mcpServers": { "notes": { "command": "notes", "args": ["--deep"] } } }' } }

describe('an upstream that is only looked at', () => {
  const LOOK = { dryRun: { beside: [] } }
  const WITH_NOTES = { files: { ...NOTES.files, 'agents/ada.json': '{ "capabilities": { "notes": {} } }' } }

  it('is told as if it were added, and nothing is written', async () => {
    const { control, json, folder, done } = await desk(WITH_NOTES)
    const entry = { command: process.execPath, args: ['--key', '${secret:KEY}', '--asked', '${secret:ASKED}'] }
    const secrets = { KEY: 'hush' }
    expect(await control.addUpstream({ name: 'new', entry, secrets, missing: ['ASKED'], ...LOOK })).toEqual({
      name: 'new',
      entry,
      gatewayViewOver: 40,
      file: folder.path(CONFIG),
      outcome: 'added',
      granted: ['default'],
      secrets: ['KEY'],
      secretsFile: folder.path('.quartermaster/secrets.json'),
      missing: { ASKED: 'ASKED' },
      problems: [],
    })
    expect(await json(CONFIG)).toEqual(JSON.parse(NOTES.files[CONFIG] ?? ''))
    expect(await json('agents/default.json')).toEqual({ capabilities: {} })
    await expect(folder.read('.quartermaster/secrets.json')).rejects.toMatchObject({ code: 'ENOENT' })
    expect(done).toEqual([])
  })

  it('may be there already, or take the place of another', async () => {
    const { control } = await desk(WITH_NOTES)
    const look = (args: string[], more = {}) =>
      control.addUpstream({ name: 'notes', entry: { command: 'notes', args }, ...LOOK, ...more })
    expect(await look(['--deep'])).toMatchObject({ outcome: 'unchanged', granted: ['default'], alsoHave: ['ada'] })
    const had = { granted: ['default'], alsoHave: ['ada'] }
    expect(await look(['--deep'], { grant: ['ada', 'default'] })).toMatchObject(had)
    await expect(look(['--flat'])).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    expect(await look(['--flat'], { replace: true, grant: false })).toMatchObject({ outcome: 'replaced', granted: [] })
  })

  it('keeps its secrets under the names that they would have beside those before it', async () => {
    const { control, json } = await desk({ files: { ...NOTES.files, 'capabilities/a.ts': "secrets.get('KEY_3')" } })
    const wish = (name: string, key: string) => ({
      name,
      entry: { command: name, env: { KEY: '${secret:KEY}' } },
      secrets: { KEY: key },
    })
    const other = { name: 'other', entry: { command: 'b', args: ['${secret:TOKEN}'] }, secrets: { TOKEN: 'hush' } }
    const asks = { name: 'asks', entry: { command: 'c', args: ['${secret:KEY}'] }, missing: ['KEY'] }
    const all = [wish('one', 'a'), other, wish('two', 'b'), wish('same', 'a'), asks, wish('last', 'c')]
    const previews: unknown[] = []
    for (const [at, one] of all.entries())
      previews.push((await control.addUpstream({ ...one, dryRun: { beside: all.slice(0, at) } })).secrets)
    expect(previews).toEqual([['KEY'], ['TOKEN'], ['KEY_2'], ['KEY'], [], ['KEY_5']])
    const added: unknown[] = []
    for (const one of all) added.push((await control.addUpstream(one)).secrets)
    expect(added).toEqual(previews)
    expect(await json('.quartermaster/secrets.json')).toEqual({ KEY: 'a', TOKEN: 'hush', KEY_2: 'b', KEY_5: 'c' })
  })

  it.each([
    ['empty', { command: '' }, 'INPUT_INVALID'],
    ['far', { url: 'ftp://x' }, 'INPUT_INVALID'],
    ['NOTES', { command: 'a' }, 'NAME_TAKEN'],
    ['A-B', { command: 'a' }, 'NAME_TAKEN'],
    ['files', { command: 'a' }, 'NAME_TAKEN'],
    ['us', { url: 'http://127.0.0.1:7420/mcp' }, 'INPUT_INVALID'],
  ])('is refused as it would be: %s %j', async (name, entry, code) => {
    const { control } = await desk({ ...NOTES, others: ['files'] })
    const look = control.addUpstream({ name, entry, dryRun: { beside: [{ name: 'a-b', entry: { command: 'b' } }] } })
    await expect(look).rejects.toMatchObject({ code })
  })

  it('says what would keep it from being used', async () => {
    const { control, folder } = await desk()
    await openDataFolder(folder.path('.quartermaster')).ensure()
    const look = (entry: object) => control.addUpstream({ name: 'notes', entry: { ...entry }, ...LOOK })
    expect(await look({ command: 'a', env: { A: '${NOPE}' } })).toMatchObject({
      outcome: 'added',
      problems: [
        { where: CONFIG, field: 'mcpServers.notes.env.A', message: expect.stringContaining('"NOPE" is not set') },
      ],
    })
  })

  it.each([{ enabled: false }, { disabled: true }])('would be off where its entry says so: %j', async more => {
    const { control } = await desk(NOTES)
    const command = process.execPath
    const look = (entry: object) => control.addUpstream({ name: 'new', entry: { command, ...entry }, ...LOOK })
    expect(await look(more)).toMatchObject({
      outcome: 'added',
      status: { name: 'new', state: 'off', target: '', reason: expect.stringContaining('It is switched off') },
    })
    // How it would be otherwise nobody knows before it runs.
    expect(await look({})).not.toHaveProperty('status')
  })

  it.runIf(process.platform !== 'win32').each([
    ['npx -y some-server', {}, 'There is no program "npx -y some-server". Write the program alone as "command"'],
    ['no-such-program', {}, 'There is no program "no-such-program" on the PATH'],
    ['node', { env: { PATH: '/nowhere' } }, 'There is no program "node" on the PATH'],
    ['./agents/default.json', {}, '"./agents/default.json" may not be run. Make it executable'],
    ['./agents', {}, '"./agents" is a folder. Write the path of the program itself as "command"'],
    [process.execPath, { cwd: 'gone' }, 'is not there. Make it, or change "cwd"'],
    ['run it --as ${secret:WHO}', {}, 'There is no program "run it --as [secret]"'],
  ])('would be down where nothing can be started: %s %j', async (command, more, reason) => {
    const { control } = await desk()
    const look = control.addUpstream({
      name: 'new',
      entry: { command, ...more },
      secrets: { WHO: 'somebody' },
      ...LOOK,
    })
    expect(await look).toMatchObject({ status: { state: 'down', reason: expect.stringContaining(reason) } })
  })

  it('may well start where somebody would first be asked for its program', async () => {
    const { control } = await desk()
    const entry = { command: '${secret:TOOL}' }
    const look = control.addUpstream({ name: 'new', entry, missing: ['TOOL'], ...LOOK })
    expect(await look).not.toHaveProperty('status')
  })

  it('says which secrets would go with what it replaces, and which would stay, and takes none', async () => {
    const { control, json, folder } = await desk()
    const entry = { command: 'a', env: { A: '${secret:A}', B: '${secret:B}', C: '${secret:C}' } }
    await control.addUpstream({ name: 'notes', entry, secrets: { A: 'old', B: 'shared', C: 'in code' } })
    await control.addUpstream({ name: 'other', entry: { command: 'b', args: ['${secret:B}'] } })
    await folder.write('capabilities/a.ts', "export const key = (secrets) => secrets.get('C')")
    const wish = { name: 'notes', entry: { command: 'c' }, replace: true }
    const released = {
      outcome: 'replaced',
      removedSecrets: ['A'],
      keptSecrets: [
        { name: 'B', usedBy: [CONFIG] },
        { name: 'C', usedBy: ['capabilities/a.ts'] },
      ],
    }
    expect(await control.addUpstream({ ...wish, ...LOOK })).toMatchObject(released)
    expect(await json('.quartermaster/secrets.json')).toEqual({ A: 'old', B: 'shared', C: 'in code' })
    expect(await control.addUpstream(wish)).toMatchObject(released)
  })

  it('says nothing of secrets where none would go', async () => {
    const { control } = await desk(NOTES)
    const wish = { name: 'notes', entry: { command: 'c' }, replace: true, ...LOOK }
    expect(await control.addUpstream(wish)).not.toHaveProperty('removedSecrets')
  })

  it('says whose file it could not be put into, and who would be made for it', async () => {
    const broken = await desk({ files: { 'agents/default.json': '{' } })
    const entry = { command: 'a' }
    expect(await broken.control.addUpstream({ name: 'notes', entry, ...LOOK })).toMatchObject({
      granted: [],
      problems: [{ severity: 'warning', subject: 'agent:default' }],
    })
    const alone = await desk({ hasAgents: false })
    expect(await alone.control.addUpstream({ name: 'notes', entry, ...LOOK })).toMatchObject({ madeAgent: 'default' })
    await expect(alone.json('agents/default.json')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

import { describe, expect, it } from 'vitest'
import { openDataFolder } from '../../adapters/data-folder/index.ts'
import { CONFIG, upstreamFixture as desk } from '../../testing/upstream-fixture.ts'

describe('adding an upstream with secrets', () => {
  it('keeps its secrets in their file, and lets references follow when a name is taken', async () => {
    const { control, json, folder } = await desk()
    await openDataFolder(folder.path('.quartermaster')).ensure()
    await folder.write('.quartermaster/secrets.json', '{ "TOKEN": "other" }', 0o600)
    const entry = { command: 'notes', env: { TOKEN: '${secret:TOKEN}', MORE: '${secret:MORE}' } }
    const answer = await control.addUpstream({ name: 'notes', entry, secrets: { TOKEN: 'hush', MORE: 'psst' } })
    expect(answer).toMatchObject({ secrets: ['TOKEN_2', 'MORE'], problems: [] })
    expect(await json('.quartermaster/secrets.json')).toEqual({ TOKEN: 'other', TOKEN_2: 'hush', MORE: 'psst' })
    expect((await json(CONFIG)).mcpServers.notes.env).toEqual({ TOKEN: '${secret:TOKEN_2}', MORE: '${secret:MORE}' })
  })

  it('gives no server a secret of another one, also when that one still waits for it', async () => {
    const { control, json } = await desk()
    const add = (name: string, more: object) => {
      const entry = { command: name, env: { TOKEN: '${secret:TOKEN}' } }
      return control.addUpstream({ name, entry, wait: false, ...more })
    }
    expect(await add('waiting', { missing: ['TOKEN'] })).toMatchObject({
      secrets: [],
      missing: { TOKEN: 'TOKEN' },
      problems: [{ message: 'The secret "TOKEN" is not there.' }],
    })
    expect(await add('mine', { secrets: { TOKEN: 'hush' } })).toMatchObject({ secrets: ['TOKEN_2'] })
    expect(await add('later', { missing: ['TOKEN'] })).toMatchObject({ missing: { TOKEN: 'TOKEN_3' } })
    expect(await json('.quartermaster/secrets.json')).toEqual({ TOKEN_2: 'hush' })
  })

  it('takes the secrets of what it replaces along, and says which stay', async () => {
    const { control, json } = await desk()
    const entry = { command: 'a', env: { A: '${secret:A}', B: '${secret:B}' } }
    await control.addUpstream({ name: 'notes', entry, secrets: { A: 'old', B: 'shared' } })
    await control.addUpstream({ name: 'other', entry: { command: 'b', args: ['${secret:B}'] } })
    const next = { command: 'a', env: { A: '${secret:A}' } }
    expect(
      await control.addUpstream({ name: 'notes', entry: next, secrets: { A: 'new' }, replace: true }),
    ).toMatchObject({
      outcome: 'replaced',
      secrets: ['A_2'],
      removedSecrets: ['A'],
      keptSecrets: [{ name: 'B', usedBy: [CONFIG] }],
    })
    expect(await json('.quartermaster/secrets.json')).toEqual({ B: 'shared', A_2: 'new' })
  })

  it('keeps what its owner says of it, and the secrets that are named there', async () => {
    const { control, json, folder } = await desk()
    const entry = { command: 'a', env: { KEY: '${secret:KEY}' } }
    const own = {
      leaveOut: ['wipe'],
      tools: { create: { consent: ['notes.write'] } },
      agents: { ada: { env: { KEY: '${secret:ADA_KEY}' } } },
    }
    await control.addUpstream({ name: 'notes', entry, secrets: { KEY: 'old' } })
    await folder.write(CONFIG, JSON.stringify({ mcpServers: { notes: { ...entry, ...own } } }))
    await folder.write('.quartermaster/secrets.json', '{ "KEY": "old", "ADA_KEY": "hers" }', 0o600)
    const same = { name: 'notes', entry, secrets: { KEY: 'old' } }
    expect(await control.addUpstream(same)).toMatchObject({ outcome: 'unchanged' })
    const next = { name: 'notes', entry, secrets: { KEY: 'new' }, replace: true }
    const kept = { outcome: 'replaced', removedSecrets: ['KEY'], keptSettings: ['leaveOut', 'tools', 'agents'] }
    expect(await control.addUpstream({ ...next, dryRun: { beside: [] } })).toMatchObject(kept)
    expect(await control.addUpstream(next)).toMatchObject(kept)
    expect((await json(CONFIG)).mcpServers.notes).toEqual({ ...entry, env: { KEY: '${secret:KEY_2}' }, ...own })
    expect(await json('.quartermaster/secrets.json')).toEqual({ ADA_KEY: 'hers', KEY_2: 'new' })
  })

  describe.each([
    [{ command: 'a' }, { command: 'b' }, 'env'],
    [{ url: 'http://127.0.0.1:9/mcp' }, { url: 'http://127.0.0.1:10/mcp' }, 'headers'],
  ] as const)('over %j, as %j', (before, next, kind) => {
    const withAda = async () => {
      const opened = await desk()
      const entry = { ...before, [kind]: { KEY: '${secret:KEY}' }, enabled: false }
      await opened.control.addUpstream({ name: 'notes', entry, secrets: { KEY: 'own' } })
      const agents = { ada: { [kind]: { KEY: '${secret:ADA_KEY}' } } }
      await opened.folder.write(CONFIG, JSON.stringify({ mcpServers: { notes: { ...entry, agents } } }))
      await opened.folder.write('.quartermaster/secrets.json', '{ "KEY": "own", "ADA_KEY": "hers" }', 0o600)
      const wish = { name: 'notes', entry: next, replace: true }
      return { ...opened, wish, secrets: () => opened.json('.quartermaster/secrets.json') }
    }

    it('takes no secret of an agent out with the setting that referred to it, and says what it was for', async () => {
      const { control, wish, secrets } = await withAda()
      const kept = {
        removedSecrets: ['KEY'],
        keptSecrets: [{ name: 'ADA_KEY', usedBy: [], wasFor: [`agents.ada.${kind}`] }],
        goneSettings: [`agents.ada.${kind}`],
      }
      expect(await control.addUpstream({ ...wish, dryRun: { beside: [] } })).toMatchObject(kept)
      expect(await control.addUpstream(wish)).toMatchObject(kept)
      expect(await secrets()).toEqual({ ADA_KEY: 'hers' })
    })

    it('says where else such a secret is named', async () => {
      const { control, wish, secrets, folder } = await withAda()
      await folder.write('capabilities/a.ts', "export const key = (secrets) => secrets.get('ADA_KEY')")
      expect(await control.addUpstream(wish)).toMatchObject({
        keptSecrets: [{ name: 'ADA_KEY', usedBy: ['capabilities/a.ts'], wasFor: [`agents.ada.${kind}`] }],
      })
      expect(await secrets()).toEqual({ ADA_KEY: 'hers' })
    })
  })

  it('keeps the secrets of what it replaces where one is missing that nobody could be asked for', async () => {
    const { control, json } = await desk()
    const entry = (command: string) => ({ command, env: { KEY: '${secret:KEY}' } })
    await control.addUpstream({ name: 'notes', entry: entry('a'), secrets: { KEY: 'hush' } })
    expect(
      await control.addUpstream({ name: 'notes', entry: entry('b'), missing: ['KEY'], replace: true }),
    ).toMatchObject({ missing: { KEY: 'KEY_2' }, removedSecrets: [], keptSecrets: [{ name: 'KEY', usedBy: [] }] })
    expect(await json('.quartermaster/secrets.json')).toEqual({ KEY: 'hush' })
  })

  it('loses no secret while another one that has the same is removed', async () => {
    const { control, json } = await desk()
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    const add = (name: string) => {
      const entry = { command: name, env: { TOKEN: '${secret:TOKEN}' } }
      return control.addUpstream({ name, entry, secrets: { TOKEN: 'hush' }, wait: false })
    }
    await add('z')
    for (const [i, name] of names.entries()) {
      await Promise.all([control.removeUpstream({ name: names[i - 1] ?? 'z' }), add(name)])
      const { env } = (await json(CONFIG)).mcpServers[name]
      const secret = /^\$\{secret:(\w+)\}$/.exec(env.TOKEN)?.[1] ?? ''
      expect(await json('.quartermaster/secrets.json')).toEqual({ [secret]: 'hush' })
    }
  })

  it('leaves no secret behind when the entry is refused', async () => {
    const { control, json } = await desk()
    const refused = control.addUpstream({ name: 'notes', entry: { comand: 'x' }, secrets: { TOKEN: 'hush' } })
    await expect(refused).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect(await json('.quartermaster/secrets.json')).toEqual({})
    expect(await json(CONFIG)).toEqual({})
  })
})

describe('removing an upstream with secrets', () => {
  const withSecrets = async () => {
    const { control, json, folder } = await desk()
    const env = { A: '${secret:A}', B: '${secret:B}' }
    await control.addUpstream({ name: 'one', entry: { command: 'a', env }, secrets: { A: 'hush', B: 'psst' } })
    await control.addUpstream({ name: 'two', entry: { command: 'b', args: ['${secret:B}', '${secret:NOPE}'] } })
    return { control, folder, kept: () => json('.quartermaster/secrets.json') }
  }

  it('takes the secrets along that nothing else names, and says which stay and why', async () => {
    const { control, kept } = await withSecrets()
    expect(await control.removeUpstream({ name: 'one' })).toMatchObject({
      removedSecrets: ['A'],
      keptSecrets: [{ name: 'B', usedBy: [CONFIG] }],
    })
    expect(await kept()).toEqual({ B: 'psst' })
    expect(await control.removeUpstream({ name: 'two' })).toMatchObject({ removedSecrets: ['B'], keptSecrets: [] })
    expect(await kept()).toEqual({})
  })

  it('leaves secrets that code asks for, and all of them on request', async () => {
    const { control, folder, kept } = await withSecrets()
    await folder.write('capabilities/a.ts', "export const key = (secrets) => secrets.get('A')")
    expect(await control.removeUpstream({ name: 'two', keepSecrets: true })).toMatchObject({
      removedSecrets: [],
      keptSecrets: [{ name: 'B', usedBy: [] }],
    })
    expect(await control.removeUpstream({ name: 'one' })).toMatchObject({
      removedSecrets: ['B'],
      keptSecrets: [{ name: 'A', usedBy: ['capabilities/a.ts'] }],
    })
    expect(await kept()).toEqual({ A: 'hush' })
  })
})

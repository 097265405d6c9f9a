import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { createAgentFiles, readProjectConfig } from './index.ts'

const posix = process.platform !== 'win32'
const silent = { debug() {}, info() {}, warn() {}, error() {} }

async function projectWith(config: unknown, secrets?: { file: string; text: string; mode?: number }) {
  const project = await tempProject({ 'quartermaster.config.json': config })
  if (secrets) await project.write(secrets.file, secrets.text, secrets.mode ?? 0o600)
  const options = { configFile: project.path('quartermaster.config.json'), dataDir: project.path('data') }
  return { ...project, open: (env: Record<string, string> = {}) => readProjectConfig({ ...options, env }) }
}

/** Everything of an error or answer that anyone could print. */
const everythingOf = (value: unknown) =>
  [
    inspect(value, { depth: 10, showHidden: true }),
    JSON.stringify(value),
    value instanceof Error ? `${value.message} ${value.stack}` : '',
  ].join('\n')

describe('secrets', () => {
  it('are read from the data folder', async () => {
    const project = await projectWith({}, { file: 'data/secrets.json', text: '{ "KEY": "hush" /* mine */, }' })
    const { secrets, problems } = await project.open()
    expect([secrets.get('KEY'), secrets.get('OTHER'), secrets.get('toString'), secrets.get('__proto__')]).toEqual([
      'hush',
      undefined,
      undefined,
      undefined,
    ])
    expect(problems).toEqual([])
  })

  it('need no file when nobody refers to them', async () => {
    const project = await projectWith({})
    expect((await project.open()).secrets.get('KEY')).toBeUndefined()
  })

  it('are a problem when they are referred to and there is no file', async () => {
    const project = await projectWith({ settings: { logLevel: '${secret:LEVEL}' } })
    await expect(project.open()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('The secret "LEVEL" is not there.'),
    })
  })

  it.skipIf(!posix).each([0o644, 0o640, 0o604, 0o660, 0o610])(
    'are refused from a file with mode %o, and chmod is named',
    async mode => {
      const project = await projectWith(
        { settings: { logLevel: '${secret:X}' } },
        { file: 'data/secrets.json', text: '{ "X": "info" }', mode },
      )
      const error = await project.open().catch(error => error)
      expect(error).toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(`chmod 600 ${project.path('data/secrets.json')}`),
      })
      expect(error.message).not.toContain('is not there')
    },
  )

  it.skipIf(!posix)('are accepted from a file that not even its owner can write', async () => {
    const project = await projectWith({}, { file: 'data/secrets.json', text: '{ "KEY": "hush" }', mode: 0o400 })
    expect((await project.open()).secrets.get('KEY')).toBe('hush')
  })

  it('are refused from what is not a regular file', async () => {
    const project = await projectWith({})
    await project.write('data/secrets.json/x', '')
    await expect(project.open()).rejects.toMatchObject({
      message: expect.stringContaining('It is not a regular file.'),
    })
  })

  it('are told with their place when they are not texts', async () => {
    const project = await projectWith(
      {},
      { file: 'data/secrets.json', text: '{\n  "A": 4711,\n  "B": ["hush"],\n  "C": "hush"\n}' },
    )
    const error = await project.open().catch(error => error)
    expect(error.details.problems).toMatchObject([
      { where: `${project.path('data/secrets.json')}:2:8`, field: 'A', message: 'The secret "A" is not a text.' },
      { where: `${project.path('data/secrets.json')}:3:8`, field: 'B', message: 'The secret "B" is not a text.' },
    ])
    expect(everythingOf(error)).not.toMatch(/hush|4711/)
  })

  it.each([
    '[ "hush" ]',
    '"hush"',
    '{ "A": "hush',
    '{ "A": hush }',
    '{ "__proto__": "hush" }',
    '{ "A": "hush", "A": "hush" }',
  ])('never show in the error about a file like %s', async text => {
    const project = await projectWith({}, { file: 'data/secrets.json', text })
    const error = await project.open().catch(error => error)
    expect(error.code).toBe('CONFIG_INVALID')
    expect(everythingOf(error)).not.toContain('hush')
  })

  it('warn when they are empty', async () => {
    const project = await projectWith({}, { file: 'data/secrets.json', text: '{ "KEY": "" }' })
    expect((await project.open()).problems).toMatchObject([
      { severity: 'warning', field: 'KEY', message: 'The secret "KEY" is empty.' },
    ])
  })

  it('never show in what a wrong value is told with', async () => {
    const config = {
      settings: { logLevel: '${secret:KEY}', nestedCallDepth: '${secret:KEY}' },
      dependencies: '${env:VALUE}',
      nope: '${secret:KEY}',
    }
    const project = await projectWith(config, { file: 'data/secrets.json', text: '{ "KEY": "hush" }' })
    const error = await project.open({ VALUE: 'variable-text' }).catch(error => error)
    expect(error.details.problems).toHaveLength(4)
    expect(everythingOf(error)).not.toMatch(/hush|variable-text/)
  })

  it("never show in the problems of an agent's file, nor in a dump of the secrets", async () => {
    const project = await projectWith({}, { file: 'data/secrets.json', text: '{ "KEY": "hush" }' })
    await project.write(
      'agents/a.json',
      '{ "capabilities": "${secret:KEY}", "consent": { "allow": ["${secret:KEY}"] }, "title": "${secret:NOPE}" }',
    )
    const { secrets } = await project.open()
    const entries = await createAgentFiles({
      projectDir: project.dir,
      env: {},
      secrets,
      watch: false,
      log: silent,
    }).load()
    expect(entries[0]?.problems).toHaveLength(3)
    expect(everythingOf({ entries, secrets })).not.toContain('hush')
  })
})

import { describe, expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { createAgentFiles, readProjectConfig } from './index.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** What an agent's texts become, and what was wrong with them. */
async function resolve(texts: Record<string, unknown>, env: Record<string, string> = {}) {
  const project = await tempProject({ 'agents/a.json': JSON.stringify({ capabilities: { c: texts } }, null, 2) })
  await project.write('data/secrets.json', '{ "TOKEN": "s3cret-text", "name.with-dots": "other" }', 0o600)
  const { secrets } = await readProjectConfig({ dataDir: project.path('data'), env: {} })
  const [entry] = await createAgentFiles({ projectDir: project.dir, env, secrets, watch: false, log: silent }).load()
  return { config: entry?.config?.capabilities['c'], problems: entry?.problems }
}

describe('references', () => {
  it('take the text of environment variables and secrets, anywhere in a text and at any depth', async () => {
    const texts = {
      a: '${env:HOST}',
      b: 'https://${HOST}:${PORT}/',
      c: [{ d: 'Bearer ${secret:TOKEN}' }],
      e: '${secret:name.with-dots}',
    }
    const { config } = await resolve(texts, { HOST: 'example.org', PORT: '80' })
    expect(config).toEqual({
      a: 'example.org',
      b: 'https://example.org:80/',
      c: [{ d: 'Bearer s3cret-text' }],
      e: 'other',
    })
  })

  it('fall back where the variable is unset or empty', async () => {
    const texts = {
      a: '${env:NOPE:-one}',
      b: '${NOPE:-two words: ok}',
      c: '${EMPTY:-three}',
      d: '${SET:-four}',
      e: '${NOPE:-}',
      f: '${EMPTY}',
    }
    const { config } = await resolve(texts, { EMPTY: '', SET: 'set' })
    expect(config).toEqual({ a: 'one', b: 'two words: ok', c: 'three', d: 'set', e: '', f: '' })
  })

  it('are left alone behind a second dollar sign', async () => {
    const { config } = await resolve({ a: '$${HOST} $${', b: '$HOST costs $5', c: '$$${X}' }, { HOST: 'h', X: 'x' })
    expect(config).toEqual({ a: '${HOST} ${', b: '$HOST costs $5', c: '$${X}' })
  })

  it('are replaced once, so that a value cannot smuggle in another reference', async () => {
    const { config } = await resolve({ a: '${EVIL}' }, { EVIL: '${secret:TOKEN} $&' })
    expect(config).toEqual({ a: '${secret:TOKEN} $&' })
  })

  it('are looked for in values only, never in names', async () => {
    const { config } = await resolve({ '${HOST}': 1 }, { HOST: 'h' })
    expect(config).toEqual({ '${HOST}': 1 })
  })

  it.each([
    [
      '${env:NOPE}',
      'The environment variable "NOPE" is not set.',
      'Set it, give a fallback: ${NOPE:-…}, or write $${NOPE} where the shell of a script is to fill it in.',
    ],
    [
      '${NOPE}',
      'The environment variable "NOPE" is not set.',
      'Set it, give a fallback: ${NOPE:-…}, or write $${NOPE} where the shell of a script is to fill it in.',
    ],
    [
      '${toString}',
      'The environment variable "toString" is not set.',
      'Set it, give a fallback: ${toString:-…}, or write $${toString} where the shell of a script is to fill it in.',
    ],
    ['${secret:NOPE}', 'The secret "NOPE" is not there.', 'Add it to secrets.json in the data folder.'],
    [
      '${secrets:TOKEN}',
      '"${secrets:…}" is no kind of reference. Did you mean "secret"?',
      'Use ${env:NAME} or ${secret:NAME}.',
    ],
    ['${foo:X}', '"${foo:…}" is no kind of reference.', 'Use ${env:NAME} or ${secret:NAME}.'],
    ['${}', 'A reference does not name a valid environment variable.', 'Write ${env:NAME} or ${env:NAME:-fallback}.'],
    [
      '${secret:TOKEN:-x}',
      'A reference does not name a valid secret.',
      'Write ${secret:NAME}; a secret has no fallback.',
    ],
    ['${HOST', 'A "${" is never closed.', 'Close it with "}", or write "$${" for the characters themselves.'],
  ])('like %s are a problem with place, name and next step', async (text, message, fix) => {
    const { config, problems } = await resolve({ a: text }, { HOST: 'h' })
    expect(config).toBeUndefined()
    expect(problems).toEqual([
      {
        severity: 'error',
        code: 'AGENT_INVALID',
        where: 'agents/a.json:4:12',
        subject: 'agent:a',
        field: 'capabilities.c.a',
        message,
        fix,
      },
    ])
  })

  it('give text even where it looks like a number', async () => {
    const project = await tempProject({ 'c.json': '{ "settings": { "nestedCallDepth": "${DEPTH}" } }' })
    const read = readProjectConfig({ configFile: project.path('c.json'), dataDir: project.dir, env: { DEPTH: '4' } })
    await expect(read).rejects.toMatchObject({
      message: expect.stringContaining(
        'Expected a whole number from 1 to 64, found text. A reference always gives text; write the value itself.',
      ),
    })
  })

  it('work in the configuration, where a missing one is told once', async () => {
    const project = await tempProject({ 'c.json': '{ "settings": { "logLevel": "${LEVEL}" } }' })
    const read = (env: Record<string, string>) =>
      readProjectConfig({ configFile: project.path('c.json'), dataDir: project.dir, env })
    expect((await read({ LEVEL: 'debug' })).settings.logLevel).toBe('debug')
    await expect(read({})).rejects.toMatchObject({ details: { problems: [{ field: 'settings.logLevel' }] } })
  })
})

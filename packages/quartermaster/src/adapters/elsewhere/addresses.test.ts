import { describe, expect, it } from 'vitest'
import { type AddressSources, readAddresses } from './index.ts'

const read = (env: Record<string, string>, more: Partial<AddressSources> = {}) =>
  readAddresses({
    env,
    readFile: async path => {
      const text = FILES[path]
      if (text === undefined) throw Object.assign(new Error(), { code: 'ENOENT' })
      return text
    },
    ...more,
  })

const FILES: Record<string, string> = {
  'token.txt': 'qm_file\n',
  'several.json': '[{"url":"https://a.example","token":"t"}]',
}

async function faults(value: unknown): Promise<string[]> {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const error = await read({ QUARTERMASTER_WORKSPACES: text }).catch((thrown: Error) => thrown)
  expect(error).toMatchObject({ code: 'INPUT_INVALID' })
  return (error as Error).message.split('\n').slice(1)
}

const ONE = { url: 'https://a.example', token: 'one' }

describe('QUARTERMASTER_WORKSPACES', () => {
  it.each([
    ['not JSON', '[{"url":', 'QUARTERMASTER_WORKSPACES is not JSON: it ends too early, at line 1, column 9.'],
    ['not JSON further down', '[\n {"url" 1}]', 'QUARTERMASTER_WORKSPACES is not JSON: wrong at line 2, column 9.'],
    ['no array', '{}', 'QUARTERMASTER_WORKSPACES must be an array: [{"url": "…", "token": "…"}, …].'],
    ['empty', '[]', 'QUARTERMASTER_WORKSPACES is an empty array. Name at least one workspace.'],
  ])('that is %s is refused, with the place and without its text', async (_, text, message) => {
    expect(await faults(text)).toEqual([message])
  })

  it('shows no token of a text that is not JSON', async () => {
    expect((await faults('[{"token":"qm_secret" "url"}]')).join()).not.toContain('qm_secret')
  })

  it('is told all its faults at once, by index and field', async () => {
    const entries = [
      3,
      {},
      { url: 'ftp://a.example', token: ' ' },
      { url: 'http://a.example', token: 'x', nmae: 'y' },
      { url: 'https://u:p@a.example', token: 'x', name: 1 },
      { url: 'https://a.example/?x=1', token: 'z' },
    ]
    expect(await faults(entries)).toEqual([
      'QUARTERMASTER_WORKSPACES[0] must be an object: {"url": "…", "token": "…"}.',
      'QUARTERMASTER_WORKSPACES[1].token is missing.',
      'QUARTERMASTER_WORKSPACES[1].url is missing.',
      'QUARTERMASTER_WORKSPACES[2].token must be a text that is not empty.',
      'QUARTERMASTER_WORKSPACES[2].url must begin with https:// or http://.',
      'QUARTERMASTER_WORKSPACES[3].nmae is unknown. An entry has url, token, id, name.',
      'QUARTERMASTER_WORKSPACES[3].url would send the token unencrypted over the network. Use https://, or allow it with --insecure.',
      'QUARTERMASTER_WORKSPACES[4].name must be a text that is not empty.',
      'QUARTERMASTER_WORKSPACES[4].url must not hold a name or password.',
      'QUARTERMASTER_WORKSPACES[5].url must not have a query or a fragment.',
    ])
  })

  it('names no workspace twice', async () => {
    const entries = [
      { ...ONE, id: 'ws_1', name: 'A' },
      ONE,
      { ...ONE, token: 'two', id: 'ws_1' },
      { url: 'https://b.example', token: 'x', name: 'a' },
    ]
    expect(await faults(entries)).toEqual([
      'QUARTERMASTER_WORKSPACES[1].token is that of QUARTERMASTER_WORKSPACES[0] as well.',
      'QUARTERMASTER_WORKSPACES[2].id is that of QUARTERMASTER_WORKSPACES[0] as well.',
      'QUARTERMASTER_WORKSPACES[3].name is that of QUARTERMASTER_WORKSPACES[0] as well.',
    ])
  })

  it.each([
    ['http://127.0.0.1:7420/', 'http://127.0.0.1:7420'],
    ['http://localhost:7420/mcp', 'http://localhost:7420'],
    ['https://a.example/team/mcp/', 'https://a.example/team'],
  ])('takes %s as %s', async (url, base) => {
    expect(await read({ QUARTERMASTER_WORKSPACES: JSON.stringify([{ url, token: 't' }]) })).toMatchObject([
      { url: base },
    ])
  })

  it('takes plain HTTP to another machine when that is allowed', async () => {
    const env = { QUARTERMASTER_WORKSPACES: JSON.stringify([{ url: 'http://a.example', token: 't' }]) }
    expect(await read(env, { isInsecure: true })).toHaveLength(1)
  })
})

describe('one workspace', () => {
  it('has its token from the environment, or from a file that is read each time', async () => {
    const [one] = await read({ QUARTERMASTER_URL: 'https://a.example', QUARTERMASTER_TOKEN: ' qm_x ' })
    expect(await one?.token()).toBe('qm_x')
    const [other] = await read({ QUARTERMASTER_TOKEN_FILE: 'token.txt' }, { url: 'https://a.example' })
    expect(await other?.token()).toBe('qm_file')
    FILES['token.txt'] = 'qm_next'
    expect(await other?.token()).toBe('qm_next')
  })

  it.each([
    [
      'no token',
      { QUARTERMASTER_URL: 'https://a.example' },
      /QUARTERMASTER_URL needs the token of a workspace in QUARTERMASTER_TOKEN/,
    ],
    [
      'both',
      { QUARTERMASTER_URL: 'https://a.example', QUARTERMASTER_TOKEN: 'x', QUARTERMASTER_TOKEN_FILE: 'y' },
      /are both set/,
    ],
    [
      'an empty token',
      { QUARTERMASTER_URL: 'https://a.example', QUARTERMASTER_TOKEN: ' ' },
      /QUARTERMASTER_TOKEN is empty/,
    ],
    [
      'no file',
      { QUARTERMASTER_URL: 'https://a.example', QUARTERMASTER_TOKEN_FILE: 'none' },
      /names "none", which cannot be read \(ENOENT\)/,
    ],
    [
      'several beside it',
      { QUARTERMASTER_URL: 'https://a.example', QUARTERMASTER_WORKSPACES: '[]' },
      /each says where to connect/,
    ],
    ['several twice', { QUARTERMASTER_WORKSPACES: '[]', QUARTERMASTER_WORKSPACES_FILE: 'x' }, /are both set/],
  ])('with %s is refused', async (_, env, message) => {
    await expect(read(env as never)).rejects.toThrow(message)
  })

  it('is read from a file of several, whose token is that of the file at present', async () => {
    const [one] = await read({ QUARTERMASTER_WORKSPACES_FILE: 'several.json' })
    FILES['several.json'] = '[{"url":"https://a.example","token":"u"}]'
    expect(await one?.token()).toBe('u')
  })
})

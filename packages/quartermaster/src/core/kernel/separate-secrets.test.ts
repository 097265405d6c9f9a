import { describe, expect, it } from 'vitest'
import { isSecretText, separateSecrets } from './index.ts'

describe('a text', () => {
  it.each([
    ['GITHUB_TOKEN', 'x1'],
    ['apiKey', 'abc'],
    ['DB_PASSWORD', 'hunter2'],
    ['Authorization', 'Bearer abcdefgh'],
    ['X-API-Key', 'abc'],
    ['OPENAI_KEY', 'abc'],
    ['HEADERS', '{"Authorization":"Bearer ntn_123456"}'],
    ['DATABASE_URL', 'postgres://me:pw@host/db'],
    ['ANY', 'ghp_0123456789abcdefghij'],
    ['ANY', 'sk-ant-api03-0123456789abcdef'],
    ['ANY', '0123456789abcdef0123456789abcdef'],
    ['ANY', 'xoxb-1234567890-abc'],
  ])('is taken for a secret: %s=%s', (name, value) => {
    expect(isSecretText(name, value)).toBe(true)
  })

  it.each([
    ['LOG_LEVEL', 'debug'],
    ['MAX_TOKENS', '4096'],
    ['USE_TOKEN', 'true'],
    ['PUBLIC_KEY', 'abc'],
    ['TOKEN', ''],
    ['TOKEN', '${env:TOKEN}'],
    ['Authorization', 'Bearer ${secret:TOKEN}'],
    ['TOKEN_URL', 'https://login.example/token'],
    ['DIR', '/home/ada/projects/2024/notes-and-more/long-folder-name'],
    ['KEYBOARD', 'de'],
    ['ANY', 'https://example.com/a/long/path/to/something/0123456789'],
  ])('is not taken for one: %s=%s', (name, value) => {
    expect(isSecretText(name, value)).toBe(false)
  })
})

describe('the secrets of an entry', () => {
  it('are taken out of environment, headers, arguments and address', () => {
    expect(
      separateSecrets('my-hub', {
        command: 'hub',
        args: ['--api-key', 'k1', '--token=t1', '-e', 'HUB_SECRET=s1', '--port', '80', 'sk-0123456789abcdef0'],
        env: { HUB_TOKEN: 't2', MODE: 'fast' },
      }),
    ).toEqual({
      entry: {
        command: 'hub',
        args: [
          ...[
            '--api-key',
            '${secret:MY_HUB_API_KEY}',
            '--token=${secret:MY_HUB_TOKEN}',
            '-e',
            'HUB_SECRET=${secret:HUB_SECRET}',
          ],
          ...['--port', '80', '${secret:MY_HUB_ARGUMENT}'],
        ],
        env: { HUB_TOKEN: '${secret:HUB_TOKEN}', MODE: 'fast' },
      },
      secrets: {
        MY_HUB_API_KEY: 'k1',
        MY_HUB_TOKEN: 't1',
        HUB_SECRET: 's1',
        MY_HUB_ARGUMENT: 'sk-0123456789abcdef0',
        HUB_TOKEN: 't2',
      },
    })
  })

  it('leave the scheme where it is, and what they stand in', () => {
    expect(
      separateSecrets('a', { url: 'https://me:pw@a.example/mcp?token=abc', headers: { Authorization: 'Bearer xyz' } }),
    ).toEqual({
      entry: {
        url: 'https://${secret:A_LOGIN}@a.example/mcp?token=${secret:A_TOKEN}',
        headers: { Authorization: 'Bearer ${secret:A_AUTHORIZATION}' },
      },
      secrets: { A_AUTHORIZATION: 'xyz', A_LOGIN: 'me:pw', A_TOKEN: 'abc' },
    })
  })

  it('are taken out of what is said about signing in, and of what single agents bring along', () => {
    const agents = {
      ada: { headers: { Authorization: 'Bearer one' } },
      bo: { env: { HUB_TOKEN: 'two', MODE: 'fast' } },
    }
    expect(
      separateSecrets('a', { url: 'https://a.example/mcp', oauth: { clientId: 'me', clientSecret: 'hush' }, agents }),
    ).toEqual({
      entry: {
        url: 'https://a.example/mcp',
        oauth: { clientId: 'me', clientSecret: '${secret:A_CLIENT_SECRET}' },
        agents: {
          ada: { headers: { Authorization: 'Bearer ${secret:A_ADA_AUTHORIZATION}' } },
          bo: { env: { HUB_TOKEN: '${secret:A_BO_HUB_TOKEN}', MODE: 'fast' } },
        },
      },
      secrets: { A_CLIENT_SECRET: 'hush', A_ADA_AUTHORIZATION: 'one', A_BO_HUB_TOKEN: 'two' },
    })
  })

  it('are not what is said about tools, or what merely has a long name', () => {
    const entry = {
      command: 'a',
      offer: ['get_pull_request_review_comments_v2'],
      tools: { sign: { examples: [{ input: { token: 'a' } }] } },
    }
    expect(separateSecrets('a', entry)).toEqual({ entry, secrets: {} })
  })

  it('have names of their own when two want the same', () => {
    const { secrets } = separateSecrets('a', {
      command: 'a',
      args: ['--token', 'one', '--token', 'two', '--token', 'one'],
    })
    expect(secrets).toEqual({ A_TOKEN: 'one', A_TOKEN_2: 'two' })
  })
})

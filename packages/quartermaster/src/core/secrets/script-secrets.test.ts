import { describe, expect, it } from 'vitest'
import { doubtfulArguments, separateSecrets } from './index.ts'

const sh = (script: string) => ({ command: 'sh', args: ['-c', script] })
const KEY = 'abcd1234efgh5678'
const GITHUB = 'ghp_0123456789abcdefghij'

describe('a secret in a shell script', () => {
  it.each([
    ['behind an option', sh(`cd /x && npx -y srv --api-key ${KEY}`), 'API_KEY', KEY],
    ['in a variable', sh(`export MODE=prod API_TOKEN="${KEY}"; node srv`), 'API_TOKEN', KEY],
    ['by its form', sh(`node x # ${GITHUB}\necho ${GITHUB}`), 'ARGUMENT', GITHUB],
    [
      'in a script of a script',
      { command: 'docker', args: ['run', 'img', 'sh', '-c', `exec bash -lc 'x --pw ${KEY}'`] },
      'PW',
      KEY,
    ],
    ['on Windows', { command: 'cmd', args: ['/c', `npx srv --api-key=${KEY} & set MODE=a`] }, 'API_KEY', KEY],
    ['that a shell would read', sh(`x --password 'hun$ter;2'`), 'PASSWORD', 'hun$ter;2'],
  ])('stays where the entry is to run, and that is said; it is masked elsewhere: %s', (_what, entry, name, secret) => {
    const { note, ...separated } = separateSecrets('a', entry, { isToRun: true })
    expect(separated).toEqual({ entry, secrets: {} })
    expect(note).toContain(`in its command (${name}) is part of a script or of other code, and is left there.`)
    const known = separateSecrets('a', entry)
    expect(Object.values(known.secrets)).toEqual([secret])
    expect(JSON.stringify(known.entry)).not.toContain(secret)
  })

  it('is hidden from a person who is to see what runs, where its name says what it is', () => {
    const { entry } = separateSecrets('a', sh(`x --api-key ${KEY}; ${GITHUB}`), { isToShow: true })
    expect(entry).toEqual(sh(`x --api-key \${secret:A_API_KEY}; ${GITHUB}`))
  })

  it('takes the whole script with it where it is put together of pieces, unless a person is to see what runs', () => {
    const entry = sh('x --password hun"ter22"')
    expect(separateSecrets('a', entry)).toMatchObject({
      entry: sh('${secret:A_SCRIPT}'),
      secrets: { A_PASSWORD: 'hunter22' },
    })
    expect(separateSecrets('a', entry, { isToShow: true }).entry).toEqual(entry)
  })

  it('hides nothing else of a script that a person is to see', () => {
    const entry = sh('x --password evil-package; npx evil-package')
    expect(separateSecrets('a', entry, { isToShow: true }).entry).toEqual(entry)
  })

  it.each([
    sh('node x --api-key $API_KEY --token "${TOKEN}" --password "$(cat pw)" --secret $(cat s) --pw `cat p`'),
    sh('curl -H "Authorization: Bearer $TOKEN" "postgres://me:$PW@db/x" | node x'),
    sh('node x --mode fast --key $HOME/.ssh/id_rsa --token "$A:$B" --password "$${PW}"'),
  ])('is not what the shell fills in itself: %j', entry => {
    expect(separateSecrets('a', entry, { isToRun: true })).toEqual({ entry, secrets: {} })
  })
})

describe('a secret as a fallback', () => {
  it.each([
    [{ command: 'a', env: { MODE: `\${MODE:-${GITHUB}}` } }, 'MODE'],
    [{ command: 'a', env: { DB_PASSWORD: '${X:-hunter2${Y}}' } }, 'DB_PASSWORD'],
    [{ url: 'https://a.example', headers: { Authorization: 'Bearer ${X:-abcdefgh}' } }, 'AUTHORIZATION'],
    [{ command: 'a', args: ['--token', '${env:X:-abc}'] }, 'TOKEN'],
    [{ command: 'a', args: ['x', '${MY_TOKEN:-abc}'] }, 'MY_TOKEN'],
    [{ command: 'a', args: ['postgres://me:${X:-hunter2}@db/x'] }, 'LOGIN'],
    [{ url: 'https://a.example/?key=${X:-abc}' }, 'KEY'],
    [{ url: 'https://a.example', agents: { ada: { headers: { Authorization: '${X:-abc}' } } } }, 'ADA_AUTHORIZATION'],
  ])('stays where the entry is to run, and that is said; it is masked elsewhere: %j', (entry, name) => {
    const { note, ...separated } = separateSecrets('a', entry, { isToRun: true })
    expect(separated).toEqual({ entry, secrets: {} })
    expect(note).toContain(`What stands behind ":-" looks like a secret (${name}) and is left there`)
    const known = separateSecrets('a', entry)
    expect(Object.keys(known.secrets)).toHaveLength(1)
    expect(JSON.stringify(known.entry)).not.toMatch(/ghp_|hunter2|abc/)
  })

  it('is not what other fallbacks are', () => {
    const env = { MODE: '${MODE:-fast}', TOKEN: '${TOKEN:-}', DATABASE_URL: 'a://me:${PW}@${HOST:-db}/x' }
    for (const isToRun of [true, false]) {
      expect(separateSecrets('a', { command: 'a', env }, { isToRun }).secrets).toEqual({})
    }
  })
})

describe('an argument that may be a secret', () => {
  it.each([
    [['-p', 'P@ssw0rd!', '-k=hunter2x', '-t', 'P@55/word!', '--profile', 'ada2'], '-p and -k and -t'],
    [['-c', 'n8n-k8s-prod1'], '-c'],
  ])('is told of by its option: %j', (args, options) => {
    expect(doubtfulArguments({ command: 'x', args })).toEqual([
      expect.stringContaining(`What stands behind ${options} among its arguments may be a secret`),
    ])
  })

  it.each([
    [['-p', 'src/**/*.ts2', '-s', '$HOME/a1', '-t', 'node:20-alpine', '-p', 'db1:5432', '-s=MODE=fast2']],
    [['-p', 'server@1.2.3', '-p', '@scope/server-2', '-k', 'me2@mail.example', '-s', 'https://a.example/x1']],
    [['-p', '8080', '-t', 'stdio', '-t', '1500ms', '-s', 'v1.2.3', '-k', '-p', '${A_1}']],
  ])('is no amount, address, path, package or variable: %j', args => {
    expect(doubtfulArguments({ command: 'x', args })).toEqual([])
  })
})

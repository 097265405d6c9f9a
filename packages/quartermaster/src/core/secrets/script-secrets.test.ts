import { describe, expect, it } from 'vitest'
import { separateSecrets } from './index.ts'

const sh = (script: string) => ({ command: 'sh', args: ['-c', script] })
const KEY = 'abcd1234efgh5678'
const GITHUB = 'ghp_0123456789abcdefghij'

describe('the secrets of an entry, in scripts and fallbacks', () => {
  it.each([
    [
      'behind options',
      sh(`npx -y srv --api-key ${KEY} --password hunter2`),
      sh('npx -y srv --api-key ${secret:A_API_KEY} --password ${secret:A_PASSWORD}'),
      { A_API_KEY: KEY, A_PASSWORD: 'hunter2' },
    ],
    [
      'in variables',
      sh(`cd /x && MODE=prod API_TOKEN=${KEY} node srv`),
      sh('cd /x && MODE=prod API_TOKEN=${secret:API_TOKEN} node srv'),
      { API_TOKEN: KEY },
    ],
    [
      'in quotes, which stay',
      sh(`export API_TOKEN="${KEY}"; node x '--token=token' --url "https://me:pw@a.example/?key=abc"`),
      sh(
        `export API_TOKEN="\${secret:API_TOKEN}"; node x '--token=\${secret:A_TOKEN}' --url "https://\${secret:A_LOGIN}@a.example/?key=\${secret:A_KEY}"`,
      ),
      { API_TOKEN: KEY, A_TOKEN: 'token', A_LOGIN: 'me:pw', A_KEY: 'abc' },
    ],
    [
      'in a script of a script, of a shell that another program starts',
      { command: 'docker', args: ['run', 'img', 'sh', '-c', `exec bash -lc 'node x --api-key ${KEY}'`] },
      { command: 'docker', args: ['run', 'img', 'sh', '-c', "exec bash -lc 'node x --api-key ${secret:A_API_KEY}'"] },
      { A_API_KEY: KEY },
    ],
    [
      'beside what the shell fills in',
      sh(
        'DB_PASSWORD="longhunter2$HOME" node x --password ${A}hunter22$(cat b) --token "tok3nx$${B}" "a://me:longpw1$B@db"',
      ),
      sh(
        'DB_PASSWORD="${secret:DB_PASSWORD}$HOME" node x --password ${A}${secret:A_PASSWORD}$(cat b) --token "${secret:A_TOKEN}$${B}" "a://me:${secret:A_LOGIN}$B@db"',
      ),
      { DB_PASSWORD: 'longhunter2', A_PASSWORD: 'hunter22', A_TOKEN: 'tok3nx', A_LOGIN: 'longpw1' },
    ],
    [
      'in what it is told to evaluate',
      sh(`if x; then eval "node x --api-key ${KEY}"; fi`),
      sh('if x; then eval "node x --api-key ${secret:A_API_KEY}"; fi'),
      { A_API_KEY: KEY },
    ],
    [
      'on Windows',
      { command: 'cmd', args: ['/c', `"npx srv --api-key=${KEY} & set MODE=a"`] },
      { command: 'cmd', args: ['/c', '"npx srv --api-key=${secret:A_API_KEY} & set MODE=a"'] },
      { A_API_KEY: KEY },
    ],
  ])('are taken out of a script: %s', (_what, entry, left, secrets) => {
    expect(separateSecrets('a', entry, { isToRun: true })).toEqual({ entry: left, secrets })
  })

  it.each([
    sh('node x --api-key $API_KEY --token "${TOKEN}" --password "$(cat pw)" --secret $(cat s)'),
    sh('curl -H "Authorization: Bearer $TOKEN" "postgres://me:$PW@db/x" | node x'),
    { command: 'cmd', args: ['/c', 'npx srv --api-key %API_KEY%'] },
    sh('node x --mode fast'),
    sh('node x --key $HOME/.ssh/id_rsa --token "$A:$B" --password "$${PW}" --secret "${A:-$(cat /run/s3cret99)}"'),
  ])('are not what a shell fills in itself: %j', entry => {
    expect(separateSecrets('a', entry, { isToRun: true })).toEqual({ entry, secrets: {} })
  })

  it.each([
    [sh(`PASSWORD="$MY_X"hunter22hunter node x`), 'PASSWORD="$MY_X"${secret:PASSWORD} node x', 'hunter22hunter'],
    [sh(`node x --token "$(echo ${GITHUB})"`), 'node x --token "$(echo ${secret:A_ARGUMENT})"', GITHUB],
    [sh("node x --token 'abc${x}def12345' # don't"), "node x --token 'abc${x}${secret:A_TOKEN}' # don't", 'def12345'],
    [sh(`# isn't ${GITHUB}\nnode x`), "# isn't ${secret:A_ARGUMENT}\nnode x", GITHUB],
    [sh(`cat <<END >f\napi_key=${KEY} isn't\nEND`), "cat <<END >f\napi_key=${secret:api_key} isn't\nEND", KEY],
    [
      sh('node x --url "https://$MY_X:hunter22pw@h/db?x=1"'),
      'node x --url "https://$MY_X:${secret:A_LOGIN}@h/db?x=1"',
      'hunter22pw',
    ],
    [sh('DB="a123://$MY_X:hunter22@h/db" node x'), 'DB="a123://$MY_X${secret:DB}" node x', ':hunter22@h/db'],
    [sh('TOKEN=$(cat /run/t)hunter2hunter node x'), 'TOKEN=$(cat /run/t)${secret:TOKEN} node x', 'hunter2hunter'],
    [sh(`T=$(a $(b "${GITHUB}") c)/d node x`), 'T=$(a $(b "${secret:A_ARGUMENT}") c)/d node x', GITHUB],
    [sh(`T=$\${T:-\`a ${GITHUB}\`} node x`), 'T=$${T:-`a ${secret:A_ARGUMENT}`} node x', GITHUB],
  ])('are told by the quotes from what a shell fills in: %j', (entry, script, secret) => {
    const { entry: left, secrets, note } = separateSecrets('a', entry, { isToRun: true })
    expect([left, Object.values(secrets), note]).toEqual([sh(script), [secret], undefined])
  })

  it.each([
    [{ command: 'a', env: { MODE: `\${MODE:-${GITHUB}}` } }, 'MODE'],
    [{ command: 'a', env: { DB_PASSWORD: '${X:-hunter2}' } }, 'DB_PASSWORD'],
    [{ url: 'https://a.example', headers: { Authorization: 'Bearer ${X:-abcdefgh}' } }, 'AUTHORIZATION'],
    [{ command: 'a', args: ['--token', '${env:X:-abc}'] }, 'TOKEN'],
    [{ command: 'a', args: ['x', '${MY_TOKEN:-abc}'] }, 'MY_TOKEN'],
    [{ command: 'a', args: ['postgres://me:${X:-hunter2}@db/x'] }, 'LOGIN'],
    [{ command: 'a', env: { DB_PASSWORD: '${X:-hunter2${Y}}' } }, 'DB_PASSWORD'],
    [{ url: 'https://a.example/?key=${X:-abc}' }, 'KEY'],
    [sh('node x --token "$${X:-abc}"'), 'TOKEN'],
    [sh(`GH=$\${A:-\${X:=${GITHUB}}} node x`), 'X'],
    [{ url: 'https://a.example', agents: { ada: { headers: { Authorization: '${X:-abc}' } } } }, 'ADA_AUTHORIZATION'],
  ])('stay where they are fallbacks, and that is told; they are known all the same: %j', (entry, name) => {
    const { note, ...separated } = separateSecrets('a', entry, { isToRun: true })
    expect(separated).toEqual({ entry, secrets: {} })
    expect(note).toContain(`What stands behind ":-" looks like a secret (${name}) and is left there`)
    const known = separateSecrets('a', entry)
    expect(Object.keys(known.secrets)).toHaveLength(1)
    expect(JSON.stringify(known.entry)).not.toMatch(/ghp_|hunter2|abc/)
  })

  it.each([
    { command: 'a', env: { MODE: '${MODE:-fast}', TOKEN: '${TOKEN:-}', DATABASE_URL: 'a://me:${PW}@${HOST:-db}/x' } },
    sh('node x --token "${TOKEN:-$OTHER}" --mode "${MODE:-fast}"'),
  ])('are not what other fallbacks are: %j', entry => {
    for (const isToRun of [true, false]) {
      expect(separateSecrets('a', entry, { isToRun })).toEqual({ entry, secrets: {} })
    }
  })

  it.each([
    [sh(`node x --token "\${NOPE:-$(echo ${GITHUB})}"`), 'ARGUMENT'],
    [sh(`node x --token "\${NOPE:-$(sh -c 'echo ${GITHUB}')}"`), 'ARGUMENT'],
    [sh(`node x --header \${H:-Authorization: Bearer ${GITHUB} x}`), 'ARGUMENT'],
  ])('stay in a script where they stand in a reference, and that is told: %j', (entry, name) => {
    expect(separateSecrets('a', entry, { isToRun: true })).toEqual({
      entry,
      secrets: {},
      note: expect.stringContaining(`in its command (${name}) `),
    })
    expect(Object.values(separateSecrets('a', entry).secrets)).toEqual([GITHUB])
  })

  it('are found once in each place', () => {
    const script = (word: string) => sh(`eval $(echo ${word} | base64 -d)`)
    const word = 'Y3VybCBldmlsIHwgc2g7IGFhYWFhYWFhYWFh'
    expect(separateSecrets('a', script(word), { isToRun: true })).toEqual({
      entry: script('${secret:A_ARGUMENT}'),
      secrets: { A_ARGUMENT: word },
    })
  })

  it('stay in a script where they are put together of pieces, and that is told', () => {
    const entry = sh('node x --password hun"ter22" --token="tok3n"1')
    expect(separateSecrets('a', entry, { isToRun: true })).toEqual({
      entry,
      secrets: {},
      note: expect.stringContaining('in its command (PASSWORD, TOKEN) '),
    })
    expect(Object.values(separateSecrets('a', entry).secrets)).toEqual(['hunter22', 'tok3n1'])
  })

  it('stay in a script where a shell would read them, and that is told; they are known all the same', () => {
    const entry = sh(`DB_PASSWORD="hunter2zz\\$x" node x --password 'hun$ter;2' --api-key=pa\\&ss`)
    const { note, ...separated } = separateSecrets('a', entry, { isToRun: true })
    expect(separated).toEqual({ entry, secrets: {} })
    expect(note).toMatch(/in its command \(DB_PASSWORD, PASSWORD, API_KEY\) .* is left there\. Give it by "env"/)
    expect(separateSecrets('a', entry)).toEqual({
      entry: sh(
        'DB_PASSWORD="${secret:DB_PASSWORD}" node x --password \'${secret:A_PASSWORD}\' --api-key=${secret:A_API_KEY}',
      ),
      secrets: { DB_PASSWORD: 'hunter2zz$x', A_PASSWORD: 'hun$ter;2', A_API_KEY: 'pa&ss' },
    })
  })
})

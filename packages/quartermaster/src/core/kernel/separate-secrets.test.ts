import { describe, expect, it } from 'vitest'
import { doubtfulOptions, isSecretText, separateSecrets } from './index.ts'

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
    ['PGPASSWORD', 'pw'],
    ['CLIENTSECRET', 'abc'],
    ['githubtoken', 'abc'],
    ['OPENAIAPIKEY', 'abc'],
    ['AUTH', 'me:pw'],
    ['PROXY_AUTH', 'abc'],
    ['MYSQL_PWD', 'pw'],
    ['DB_PASSWORD', '1234'],
    ['API_KEY_2', 'abc'],
    ['API_KEYS', 'abc,def'],
    ['AUTH_HEADER', 'Bearer abc'],
    ['DSN', 'me:pw@tcp(db:3306)/notes'],
    ['SENTRY_DSN', 'https://0a1b@errors.example/1'],
    ['ANY', 'redis://:pw@cache:6379'],
    ['ANY', 'postgres://me:p/w@db/notes'],
    ['ANY', 'https://0123456789abcdef0123@git.example/notes'],
    ['ANY', 'Server=db;User Id=sa;Password=pw;'],
    ['ANY', 'host=db user=me password=pw'],
    ['ANY', 'https://a.example/mcp?team=red&api_key=abc'],
    ['ANY', 'https://a.example/mcp?api_key=abc'],
    ['ANY', '--url=https://a.example/mcp?api_key=abc'],
    ['ANY', '{"apiKey":"abc"}'],
    ['ANY', 'Authorization: Bearer abc'],
    ['ANY', 'bearer abc'],
    ['ANY', 'https://hooks.slack.com/services/T0/B0/x'],
    ['ANY', 'https://discord.com/api/webhooks/1/x'],
    ['ANY', 'https://api.telegram.org/bot1:x/send'],
    ['CHAT_WEBHOOK_URL', 'https://chat.example/in/x'],
    ['ANY', 'Server=h;Pwd=abc'],
    ['ANY', 'Pwd=abc;Server=h'],
    ['ANY', 'Driver={SQL};Uid=sa;PWD=abc;'],
    ['DB_PW', 'abc'],
    ['pw', 'x'],
    ['u', 'me:pw'],
    ['user', 'me:p/w:1'],
    ['CREDS', 'u:p'],
    ['DB_CREDS', 'me'],
    ['ANY', `123456789:AA${'Hx-_0'.repeat(6)}abc`],
    ['ANY', `MTIz${'NDU2'.repeat(5)}.GaBcDe.${'x1-_'.repeat(8)}`],
    ['ANY', '123e4567-e89b-42d3-a456-426614174000'],
    ['ANY', 'AB3D1-EFG2H-I4JKL-MN5OP-6QRST-U7VWX'],
    ['ANY', 'vQ3x-Zr8kLm_Tn2wPb-Yc6dHs9fJgKa4'],
    ['DB_PASSWORD', '${PREFIX}hunter2hunter'],
    ['X-Api-Key', '${X}@bcdefghijk'],
    ['Authorization', 'Basic ${X}dXNlcjp='],
  ])('is taken for a secret: %s=%s', (name, value) => {
    expect(isSecretText(name, value)).toBe(true)
  })

  it.each([
    ['LOG_LEVEL', 'debug'],
    ['ANY', 'PWD=/home/ada;HOME=/home/ada'],
    ['ANY', 'Server=db;Pwd=${secret:PW}'],
    ['u', '1000:1000'],
    ['u', 'node:node'],
    ['u', 'me'],
    ['user', 'C:\\Users\\ada'],
    ['GOOGLE_APPLICATION_CREDENTIALS', '/home/ada/key.json'],
    ['creds', './creds.json'],
    ['SPWN', 'fast'],
    ['SACRED', 'text'],
    ['ANY', '12:30'],
    ['ANY', 'localhost:8080'],
    ['ANY', '1234567:AAbc'],
    ['ANY', 'NotificationServiceHandlers.create.withDefaults'],
    ['MAX_TOKENS', '4096'],
    ['USE_TOKEN', 'true'],
    ['PUBLIC_KEY', 'abc'],
    ['TOKEN', ''],
    ['TOKEN', '${env:TOKEN}'],
    ['Authorization', 'Bearer ${secret:TOKEN}'],
    ['Cookie', 'session=${SESSION}; theme=${THEME}'],
    ['API_KEY', '${HOME}/keys/id_rsa'],
    ['KEY_FILE', '${HOME}/key.pem'],
    ['TOKEN', '${HOST}:8080'],
    ['PASSWORD', '${PREFIX}pw12'],
    ['TOKEN_URL', 'https://login.example/token'],
    ['DIR', '/home/ada/projects/2024/notes-and-more/long-folder-name'],
    ['KEYBOARD', 'de'],
    ['AUTHOR', 'me'],
    ['TOKENIZERS_PARALLELISM', 'false'],
    ['AUTH', 'none'],
    ['AUTH', 'true'],
    ['AUTH', 'false'],
    ['AUTH', 'oauth2'],
    ['BYPASS', 'proxy'],
    ['MONKEY', 'george'],
    ['MAX_TOKENS', '100000'],
    ['PWD', '/home/ada'],
    ['WEBHOOK_PORT', '8080'],
    ['DSN', 'notes'],
    ['DATABASE_URL', 'postgres://db/notes'],
    ['REPOSITORY', 'ssh://git@git.example/notes'],
    ['REGISTRY', 'http://localhost:4873/@scope/notes'],
    ['ANY', 'https://a.example/mcp?sort=name&limit=10'],
    ['ANY', 'me@mail.example'],
    ['ANY', 'Password=${secret:PW};Server=db'],
    ['ANY', '{"apiKey":"${env:KEY}"}'],
    ['ANY', 'https://example.com/a/long/path/to/something/0123456789'],
    ['EMBEDDING_MODEL', 'sentence-transformers/all-MiniLM-L6-v2'],
    ['model', 'meta-llama/Llama-3.3-70B-Instruct-Turbo'],
    ['MODEL_ID', 'anthropic.claude-3-5-sonnet-20241022-v2'],
    ['AWS_PROFILE', 'my-team-production-eu-west-1-readonly'],
    ['PROJECT_ID', 'my-company-analytics-production-384212'],
    ['ANY', 'dist/mcp-server-for-elasticsearch-8-data.js'],
    ['y', 'this-package-does-not-exist-xyz-123'],
  ])('is not taken for one: %s=%s', (name, value) => {
    expect(isSecretText(name, value)).toBe(false)
  })
})

describe('the secrets of an entry', () => {
  it('are no packages that are run', () => {
    const entry = { command: 'npx', args: ['-y', 'n8n-k8s-s3-tools-v2'] }
    expect(separateSecrets('a', entry)).toEqual({ entry, secrets: {} })
  })

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

  it.each([
    ['a flag of several parts', ['--header=X-Api-Key:abc'], ['--header=X-Api-Key:${secret:A_X_API_KEY}'], 'abc'],
    [
      'a header behind its flag',
      ['-H', 'Authorization: Bearer abc'],
      ['-H', 'Authorization: Bearer ${secret:A_AUTHORIZATION}'],
      'abc',
    ],
    ['a header by itself', ['X-Auth-Token: abc'], ['X-Auth-Token: ${secret:A_X_AUTH_TOKEN}'], 'abc'],
    ['a variable for a container', ['--env=HUB_TOKEN=abc'], ['--env=HUB_TOKEN=${secret:HUB_TOKEN}'], 'abc'],
    ['one that its form gives away', ['--db=redis://:pw@c'], ['--db=${secret:A_DB}'], 'redis://:pw@c'],
    ['an address', ['https://a.example/?api_key=abc'], ['https://a.example/?api_key=${secret:A_API_KEY}'], 'abc'],
    ['a login', ['-u', 'me:pw'], ['-u', '${secret:A_U}'], 'me:pw'],
    ['a password of whoever it is', ['-u', '${ME}:pw'], ['-u', '${ME}${secret:A_U}'], ':pw'],
    ['one in an address', ['--db', 'a://${ME}:pw@${DB}/x'], ['--db', 'a://${ME}${secret:A_DB}${DB}/x'], ':pw@'],
    ['one before more', ['a://${ME}:hunter22@db?b=${C}'], ['a://${ME}${secret:A_ARGUMENT}${C}'], ':hunter22@db?b='],
    ['one of several', ['--db', ' me=${ME} password=pw'], ['--db', ' me=${ME}${secret:A_DB}'], ' password=pw'],
    ['a short word for it', ['--pw', 'x'], ['--pw', '${secret:A_PW}'], 'x'],
    ['a key behind a single letter', ['-k', 'a8Kd03mZq91x'], ['-k', '${secret:A_K}'], 'a8Kd03mZq91x'],
    ['the same in one word', ['-k=a8Kd03mZq91x'], ['-k=${secret:A_K}'], 'a8Kd03mZq91x'],
    ['a key behind a name', ['--profile', 'a8Kd03mZq91x'], ['--profile', '${secret:A_PROFILE}'], 'a8Kd03mZq91x'],
    [
      'an address that lets everybody in',
      ['--webhook', 'https://chat.example/in/x'],
      ['--webhook', '${secret:A_WEBHOOK}'],
      'https://chat.example/in/x',
    ],
    [
      'the same in one word',
      ['--webhook-url=https://c.example/x'],
      ['--webhook-url=${secret:A_WEBHOOK_URL}'],
      'https://c.example/x',
    ],
    [
      'settings for a command that a shell has too',
      ['eval', '{"apiKey":"abc"}'],
      ['eval', '${secret:A_ARGUMENT}'],
      '{"apiKey":"abc"}',
    ],
    ['an end beside a reference', ['--token', 'abc${X}defghij'], ['--token', 'abc${X}${secret:A_TOKEN}'], 'defghij'],
    [
      'the password of who is filled in',
      ['--url=https://${env:USER}:hunter22pw@a.example/mcp'],
      ['--url=https://${env:USER}:${secret:A_LOGIN}@a.example/mcp'],
      'hunter22pw',
    ],
    [
      'a key beside a reference in an address',
      ['https://${HOST}/mcp?api_key=${KEY}hunter22pw'],
      ['https://${HOST}/mcp?api_key=${KEY}${secret:A_API_KEY}'],
      'hunter22pw',
    ],
    ['settings in JSON', ['--config', '{"apiKey":"abc"}'], ['--config', '${secret:A_CONFIG}'], '{"apiKey":"abc"}'],
  ])('are taken out of arguments: %s', (_what, args, left, secret) => {
    const { entry, secrets } = separateSecrets('a', { command: 'a', args })
    expect([entry['args'], Object.values(secrets)]).toEqual([left, [secret]])
  })

  it('are known behind a single letter also where a shorter one is only told of', () => {
    const [key, name] = [
      { command: 'a', args: ['-k', 'a8Kd03mZq91x4T7w'] },
      { command: 'a', args: ['-c', 'n8n-k8s-prod1'] },
    ]
    const written = [key, name].map(entry => separateSecrets('a', entry, { isToRun: true }).secrets)
    expect(written).toEqual([{ A_K: 'a8Kd03mZq91x4T7w' }, {}])
    expect(separateSecrets('a', name).secrets).toEqual({ A_C: 'n8n-k8s-prod1' })
    expect(doubtfulOptions(name.args)).toEqual(['-c'])
  })

  const sh = (script: string) => ({ command: 'sh', args: ['-c', script] })
  const KEY = 'abcd1234efgh5678'
  const GITHUB = 'ghp_0123456789abcdefghij'

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
        'DB_PASSWORD="${secret:DB_PASSWORD}$HOME" node x --password ${A}${secret:A_PASSWORD}$(cat b) --token "${secret:A_TOKEN}$${B}" "${secret:A_ARGUMENT}$B@db"',
      ),
      { DB_PASSWORD: 'longhunter2', A_PASSWORD: 'hunter22', A_TOKEN: 'tok3nx', A_ARGUMENT: 'a://me:longpw1' },
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
    [{ command: 'a', args: ['postgres://me:${X:-hunter2}@db/x'] }, 'ARGUMENT'],
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
      note: expect.stringContaining(`in its script (${name}) `),
    })
    expect(Object.values(separateSecrets('a', entry).secrets)).toEqual([GITHUB])
  })

  it('stay in a script where they are put together of pieces, and that is told', () => {
    const entry = sh('node x --password hun"ter22" --token="tok3n"1')
    expect(separateSecrets('a', entry, { isToRun: true })).toEqual({
      entry,
      secrets: {},
      note: expect.stringContaining('in its script (PASSWORD, TOKEN) '),
    })
    expect(Object.values(separateSecrets('a', entry).secrets)).toEqual(['hunter22', 'tok3n1'])
  })

  it('stay in a script where a shell would read them, and that is told; they are known all the same', () => {
    const entry = sh(`DB_PASSWORD="hunter2zz\\$x" node x --password 'hun$ter;2' --api-key=pa\\&ss`)
    const { note, ...separated } = separateSecrets('a', entry, { isToRun: true })
    expect(separated).toEqual({ entry, secrets: {} })
    expect(note).toMatch(/in its script \(DB_PASSWORD, PASSWORD, API_KEY\) .* is left there\. Give it by "env"/)
    expect(separateSecrets('a', entry)).toEqual({
      entry: sh(
        'DB_PASSWORD="${secret:DB_PASSWORD}" node x --password \'${secret:A_PASSWORD}\' --api-key=${secret:A_API_KEY}',
      ),
      secrets: { DB_PASSWORD: 'hunter2zz$x', A_PASSWORD: 'hun$ter;2', A_API_KEY: 'pa&ss' },
    })
  })

  it.each([
    ['--author=me'],
    ['--auth=none'],
    ['--keyboard', 'de'],
    ['-e', 'MODE=fast'],
    ['--header', 'Accept: text/plain'],
    ['--url=https://a.example/mcp'],
    ['--tokens=4096'],
    ['--profile', 'staging-eu-2024'],
    ['-p', '8080:80'],
    ['-p', '@scope/server-2@1.2.3'],
    ['-t', 'node:20-alpine'],
    ['-k', 'hunter2'],
  ])('are not seen in ordinary arguments: %s %s', (...args) => {
    expect(separateSecrets('a', { command: 'a', args }).secrets).toEqual({})
  })

  it('are taken out of the path of an address', () => {
    const key = '0123456789abcdef0123456789abcdef'
    expect(separateSecrets('a', { url: `https://a.example/s/${key}/mcp` })).toEqual({
      entry: { url: 'https://a.example/s/${secret:A_PATH}/mcp' },
      secrets: { A_PATH: key },
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

  it.each([
    ['postgres://me:longpw123@${HOST}/db', '${secret:DATABASE_URL}${HOST}/db', 'postgres://me:longpw123@'],
    ['${SCHEME}://me:longpw123@db.example/x', '${SCHEME}${secret:DATABASE_URL}', '://me:longpw123@db.example/x'],
    [`${GITHUB}$\${X}`, '${secret:DATABASE_URL}$${X}', GITHUB],
    [
      'postgres://${USER}:hunter22pw@${HOST}/a/path',
      'postgres://${USER}${secret:DATABASE_URL}${HOST}/a/path',
      ':hunter22pw@',
    ],
    ['https://a.example/?key=${X}hunter22', 'https://a.example/?key=${X}${secret:DATABASE_URL}', 'hunter22'],
  ])('leave where it is what is filled in beside them: %s', (text, left, secret) => {
    expect(separateSecrets('a', { command: 'x', env: { DATABASE_URL: text } })).toEqual({
      entry: { command: 'x', env: { DATABASE_URL: left } },
      secrets: { DATABASE_URL: secret },
    })
  })

  it.each([
    { url: 'https://${HOST}/mcp' },
    { url: 'https://${env:LOGIN}@a.example/mcp' },
    { url: `https://${'${A}'.repeat(40)}/mcp` },
    { url: `https://${'${A}'.repeat(40)}@a.example` },
    { url: 'https://me:${PW}@${HOST}:8080/mcp?team=${TEAM}' },
    { url: 'https://a.example', headers: { Authorization: 'Bearer ${T}' } },
  ])('are not what stands around a reference: %j', entry => {
    expect(separateSecrets('a', entry)).toEqual({ entry, secrets: {} })
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

  it('take no name that the entry refers to already', () => {
    const env = { DB_PW_OLD: '${secret:DB_PASSWORD}', DB_PASSWORD: 'abc' }
    expect(separateSecrets('a', { command: 'a', env })).toEqual({
      entry: { command: 'a', env: { ...env, DB_PASSWORD: '${secret:DB_PASSWORD_2}' } },
      secrets: { DB_PASSWORD_2: 'abc' },
    })
  })

  it('have names of their own when two want the same', () => {
    const { secrets } = separateSecrets('a', {
      command: 'a',
      args: ['--token', 'one', '--token', 'two', '--token', 'one'],
    })
    expect(secrets).toEqual({ A_TOKEN: 'one', A_TOKEN_2: 'two' })
  })
})

it.each([
  [['-p', 'P@ssw0rd!'], ['-p']],
  [['-k=hunter2x'], ['-k']],
  [['-p', 'P@55/word!'], ['-p']],
  [['-p', 'src/**/*.ts2', '-s', '$HOME/a1', '-t', 'node:20-alpine', '-p', 'db1:5432', '-s=MODE=fast2'], []],
  [['-p', 'server@1.2.3', '-p', '@scope/server-2', '-k', 'me2@mail.example', '-s', 'https://a.example/x1'], []],
])('a password may have signs that addresses, paths and packages have: %j', (args, options) => {
  expect(doubtfulOptions(args)).toEqual(options)
})

it('options behind which a password may stand are told, and not those of ordinary arguments', () => {
  expect(doubtfulOptions(['-k', 'hunter2', '-p', 'pa55word', '-p', 's3cret!', '--profile', 'ada2'])).toEqual([
    '-k',
    '-p',
  ])
  const ordinary = [
    '-p',
    '8080',
    '-t',
    'stdio',
    '-p',
    '@scope/pkg@1.2.3',
    '-t',
    '1500ms',
    '-s',
    'v1.2.3',
    '-k',
    '-p',
    '${A_1}',
  ]
  expect(doubtfulOptions(ordinary)).toEqual([])
})

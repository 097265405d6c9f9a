import { describe, expect, it } from 'vitest'
import { redactSecrets, TAKEN_OUT } from './index.ts'

// Put together here, so that nothing that looks for leaked secrets finds one in this file.
const of = (...parts: string[]) => parts.join('')
const JWT = of('eyJhbGciOiJIUzI1NiIs', '.eyJzdWIiOiIxMjM0NTY3ODkwIn0', '.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U')
const BLOCK = of('-----BEGIN RSA ', 'PRIVATE KEY-----\nMIIEowIBAAKCAQEA75\nabc/+=\n-----END RSA ', 'PRIVATE KEY-----')

describe('redaction takes', () => {
  it.each([
    ['a key of OpenAI', of('use sk-', 'proj-abcdEFGH1234ijklMNOP5678'), `use ${TAKEN_OUT}`],
    ['a key of Anthropic', of('sk-', 'ant-api03-Abc123_def456-GHI789jkl'), TAKEN_OUT],
    ['a key of Stripe', of('sk_', 'live_51H8abcdefghijklmnop'), TAKEN_OUT],
    ['a token of GitHub', of('it is ghp_', '16C7e42F292c6912E7710c838347Ae178B4a.'), `it is ${TAKEN_OUT}.`],
    ['a fine-grained one', of('github_pat_', '11ABCDEFG0abcdefghijkl_mnop'), TAKEN_OUT],
    ['a token of GitLab', of('glpat-', 'abcdEFGH1234ijklMNOP'), TAKEN_OUT],
    ['a key of AWS', of('id AKIA', 'IOSFODNN7EXAMPLE ok'), `id ${TAKEN_OUT} ok`],
    ['a token of Slack', of('xoxb-', '123456789012-abcdefABCDEF'), TAKEN_OUT],
    ['a key of Google', of('AIza', 'SyA1234567890abcdefghijklmnopqrstuv'), TAKEN_OUT],
    ['a token of ours', of('qm_', 'a'.repeat(20), 'B1_-'.repeat(5), 'xyz'), TAKEN_OUT],
    ['a JSON Web Token', `say ${JWT} to it`, `say ${TAKEN_OUT} to it`],
    ['a bearer token', of('Authorization: Bearer ', 'abc123.def~456'), `Authorization: Bearer ${TAKEN_OUT}`],
    ['a basic one', of('Authorization: Basic ', 'dXNlcjpwYXNzd29yZA=='), `Authorization: Basic ${TAKEN_OUT}`],
    ['a private key', `the key:\n${BLOCK}\nend`, `the key:\n${TAKEN_OUT}\nend`],
    ['a private key that was cut off', BLOCK.slice(0, 60), TAKEN_OUT],
    ['a password in an address', of('postgres://me:', 'hunter2!@db:5432/x'), `postgres://me:${TAKEN_OUT}@db:5432/x`],
    ['a password that is named', of('password=', 'hunter2!'), `password=${TAKEN_OUT}`],
    ['one in JSON', of('{"apiKey": "', 'abcd-1234-efgh"}'), `{"apiKey": "${TAKEN_OUT}"}`],
    ['one in the environment', of('DB_PASSWORD=', 's3cr3t-thing'), `DB_PASSWORD=${TAKEN_OUT}`],
    ['one of a connection string', of('Server=db;Pwd=', 'abc123;Port=1'), `Server=db;Pwd=${TAKEN_OUT};Port=1`],
    ['one in prose', of('The password: ', 'Tr0ub4dor&3'), `The password: ${TAKEN_OUT}`],
    [
      'an address that lets in',
      of('https://hooks.slack.com/services/', 'T000/B000/XXXXabcd'),
      `https://hooks.slack.com/services/${TAKEN_OUT}`,
    ],
  ])('%s', (_what, text, expected) => {
    const redacted = redactSecrets(text)
    expect(redacted.count).toBe(1)
    expect(redacted.text).toBe(expected)
    // Once taken out, there is nothing more to take.
    expect(redactSecrets(redacted.text)).toEqual({ text: redacted.text, count: 0 })
  })

  it.each([
    ['OpenRouter', of('sk-or-', 'v1-0a1b2c3d4e5f60718293a4b5c6d7e8f9')],
    ['DeepSeek', of('sk-', '0a1b2c3d4e5f60718293a4b5c6d7e8f9')],
    ['Stripe, limited', of('rk_', 'test_51H8abcdefghijklmnop')],
    ['Stripe’s webhooks', of('whsec_', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4')],
    ['npm', of('npm_', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8')],
    ['PyPI', of('pypi-', 'AgEIcHlwaS5vcmcCJDEyMzQ1Njc4LWFiY2Q')],
    ['Hugging Face', of('hf_', 'aBcDeFgHiJ1234567890kLmNoPqRsTuVwX')],
    ['Notion', of('ntn_', '12345678901abcdefghijklmnopqrstuvwxyzABCD')],
    ['Notion, as it was', of('secret_', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V')],
    ['Figma', of('figd_', 'aBcDeFgHiJ1234567890-kLmNoPqRs_TuVwXyZ')],
    ['Shopify', of('shpat_', '0a1b2c3d4e5f60718293a4b5c6d7e8f9')],
    ['Linear', of('lin_api_', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8')],
    ['DigitalOcean', of('dop_v1_', '0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9')],
    ['Grafana', of('glsa_', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6_0a1b2c3d')],
    ['Groq', of('gsk_', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8')],
    ['Replicate', of('r8_', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8')],
    ['Supabase', of('sbp_', '0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d')],
    ['Perplexity', of('pplx-', '0a1b2c3d4e5f60718293a4b5c6d7e8f9')],
    ['Tavily', of('tvly-', 'a1B2c3D4e5F6g7H8i9J0')],
    ['Firecrawl', of('fc-', '0a1b2c3d4e5f60718293a4b5c6d7e8f9')],
    ['SendGrid', of('SG.', 'a1B2c3D4e5F6g7H8i9J0k1.', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V')],
    ['Databricks', of('dapi', '0a1b2c3d4e5f60718293a4b5c6d7e8f9')],
    ['Mailchimp', of('0a1b2c3d4e5f60718293a4b5c6d7e8f9', '-us12')],
    ['Airtable', of('patAbCdEfGhIjKlMn', '.', '0a1b2c3d4e5f6071'.repeat(4))],
    ['Vault', of('hvs.', 'CAESIJ1234abcdEFGH5678ijklMNOP')],
    ['Telegram', of('123456789:', 'AAabcdefghijklmnopqrstuvwxyz1234567')],
    ['Discord', of('MTk4NjIyNDgzNDcxOTI1MjQ4', '.Cl2FMQ.', 'ZnCjm1XVW7vRze4b7Cq4se7kKWs')],
    ['Google’s clients', of('GOCSPX-', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4')],
    ['Google’s access', of('ya29.', 'a0AfH6SMBx1234567890abcdef')],
    ['Atlassian', of('ATATT3x', 'FfGF0a1b2c3d4e5f60718293a4b5c6d7e8f9')],
    ['Postman', of('PMAK-', '0a1b2c3d4e5f607182930a1b-0a1b2c3d4e5f60718293a4b5c6d7e8f90a')],
  ])('a key of %s', (_what, secret) => {
    expect(redactSecrets(`We use ${secret} there.`)).toEqual({ text: `We use ${TAKEN_OUT} there.`, count: 1 })
  })

  it('each of several', () => {
    const text = of('password=', 'hunter2! and ghp_', '16C7e42F292c6912E7710c838347Ae178B4a')
    expect(redactSecrets(text)).toEqual({ text: `password=${TAKEN_OUT} and ${TAKEN_OUT}`, count: 2 })
  })
})

describe('redaction spares', () => {
  it.each([
    'fixed in commit 9fceb02d0ae598e95dc970b74767f19372d61af8',
    'sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 is empty',
    'sha512-4c9ixdYpYQk7v5v0tVY7cEJ5dQmB7T2r2l3n1m8yF0qX9w==',
    'the id is 123e4567-e89b-12d3-a456-426614174000',
    '/usr/local/share/very/long/path/to/some/deeply/nested/file-with-a-long-name.config.json',
    'C:\\Users\\ada\\AppData\\Local\\Programs\\thing\\x64\\release-2024',
    'https://example.org:8443/a/b?c=d#e',
    'git@github.com:acme/widgets.git',
    'The bearer of bad news brought basic facts.',
    'Basic authentication is off; the bearer token is checked by the proxy.',
    'Tokens expire after 30 days, and secrets are rotated weekly.',
    'Passwords must have 12 characters.',
    'password=${DB_PASSWORD} comes from the environment',
    'set token: <your token>',
    'risk-assessment-of-the-quarterly-planning-process',
    'sk-learn and task-force-for-something-important are words',
    'op_5f3KdPq8ZxYw2LrT and mem_0aB1cD2eF3gH4iJ5 are ids',
    'node_modules/@modelcontextprotocol/sdk/dist/esm/client/index.js',
    'primary key: id, foreign key: user_id',
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ada@laptop',
    '東京のサーバーのパスワードは金庫にある。',
    'merge 9fceb02 into 7b05565, then tag v2.14.0-rc.1+build.20260115',
    'the layer sha256:4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a is cached',
    '"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="',
    'the picture is iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO',
    'eyJ is how the header of a JSON Web Token begins, as in eyJhbGciOiJIUzI1NiJ9 alone',
    'the class eyJacketFactory.createJacket.forSize has a bug',
    'AbstractSingletonProxyFactoryBeanConfigurationInitializer2 was renamed',
    'NEXT_PUBLIC_ANALYTICS_ENDPOINT_V2 and MAX_CONCURRENT_UPSTREAM_SESSIONS_PER_AGENT',
    'npm_config_registry and npm_package_version_2 are variables of npm',
    'hf_transfer_enabled_for_all_2_jobs',
    's3://acme-archive-eu-central-1/backups/2026/01/15/store.db.zst',
    'arn:aws:iam::123456789012:role/deploy-production-2026',
    'projects/acme-prod/locations/europe-west1/keyRings/main/cryptoKeys/store/cryptoKeyVersions/3',
    '2001:0db8:85a3:0000:0000:8a2e:0370:7334 and 192.168.17.204:8443',
    'order 4711-0815-2026, IBAN DE89 3704 0044 0532 0130 00, phone +49 30 901820',
    'ULID 01ARZ3NDEKTSV4RRFFQ69G5FAV, nanoid V1StGXR8_Z5jdHi6B-myT, mongo 507f1f77bcf86cd799439011',
    'the ticket TASK-2026-000123 and the branch fix/sk-1234-retry-when-the-lease-is-lost',
    'sk-learn-contrib-imbalanced-learning-0.12 is a package',
    'the public key pk_test is shown to browsers; the secret key is not',
    'the key: value pairs of the table, and the token: a word that the lexer gives',
    'the password is wrong, the token was missing, the secret is out',
    'the token bucket holds 300 tokens, max_tokens=4096',
    'curl -H "Authorization: Bearer $TOKEN" https://api.example.org/v1/items?page=2',
    'each token: valid for an hour, signed by the key: rotated in spring',
    'auth: oauth2, session: cookie, credentials: include',
    'M. Night, N. Bohr and O. Wilde met at 10:30. Nobody.knew.them',
    'the hash is $2b$12$, sixteen rounds; see bcrypt',
    'glob **/*.test.ts, regex ^[A-Za-z0-9_-]{43}$, cron 0 3 * * 1',
    'xoxo-from-all-of-us-2026 said the card',
    'bot 123456789 answered 42 messages at 12:45:07',
    'chr7:140453136-140453137 is the place of the mutation BRAF V600E',
  ])('%s', text => {
    expect(redactSecrets(text)).toEqual({ text, count: 0 })
  })

  it('and takes no time over long texts that only begin like something', () => {
    for (const piece of ['a.b-c_', 'password', 'eyJ', 'https://x:', 'bearer ', '-----BEGIN PRIVATE KEY'])
      expect(redactSecrets(piece.repeat(Math.floor(60_000 / piece.length))).count).toBeLessThan(60_000)
  })
})

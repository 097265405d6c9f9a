/** Asked of a client since 2025-11-25, and still in 2026-07-28. */
const BOTH = [
  'auth/basic-cimd',
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/pre-registration',
  'auth/scope-from-scopes-supported',
  'auth/scope-from-www-authenticate',
  'auth/scope-omitted-when-undefined',
  'auth/scope-retry-limit',
  'auth/scope-step-up',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-none',
  'auth/token-endpoint-auth-post',
  'json-schema-2020-12-preservation',
  'tools_call',
]

/** All that the suite requires of a client, by revision, and what it added since. */
export const CLIENT_SCENARIOS = {
  '2025-11-25': [...BOTH, 'elicitation-sep1034-client-defaults', 'initialize', 'sse-retry'],
  '2026-07-28': [
    ...BOTH,
    'auth/authorization-server-migration',
    'auth/iss-normalized',
    'auth/iss-not-advertised',
    'auth/iss-supported',
    'auth/iss-supported-missing',
    'auth/iss-unexpected',
    'auth/iss-wrong-issuer',
    'auth/metadata-issuer-mismatch',
    'auth/offline-access-not-supported',
    'auth/offline-access-scope',
    'auth/resource-mismatch',
    'http-custom-headers',
    'http-invalid-tool-headers',
    'http-standard-headers',
    'json-schema-ref-no-deref',
    'request-metadata',
    'sep-2322-client-request-state',
  ],
} as const

/** What the suite runs besides, unscored: ways to sign in that are extensions, and that we do not have. Nobody drives them. */
export const EXTENSIONS = [
  'auth/client-credentials-basic',
  'auth/client-credentials-jwt',
  'auth/dpop',
  'auth/dpop-nonce',
  'auth/enterprise-managed-authorization',
  'auth/wif-jwt-bearer',
]

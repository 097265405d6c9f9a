/** What is wrong with a value, as Zod tells it. Other libraries tell the message alone. */
interface ToldIssue {
  readonly message: string
  readonly code?: unknown
  readonly issues?: readonly { readonly message: string }[]
  readonly origin?: unknown
  readonly minimum?: unknown
  readonly maximum?: unknown
  readonly inclusive?: unknown
  readonly values?: readonly unknown[]
}

/** Of a name that cannot be one, Zod says only that; why is in what it found before. */
export function issueSentence(issue: { readonly message: string }): string {
  const { code, issues } = issue as ToldIssue
  return (code === 'invalid_key' ? issues?.[0]?.message : undefined) ?? issue.message
}

/** The beginnings of what Zod says of itself; what somebody has written is left as it is. */
const RAW = /^(?:Invalid input|Invalid option|Too small|Too big)\b/

/** An issue behind the name of its field, in our words where it is in those of the library: `must be a list`. */
export function issuePredicate(issue: { readonly message: string }): string {
  const told = issue as ToldIssue
  if (!RAW.test(told.message)) return issueSentence(issue)
  const [, expected, received] = /expected (\w+), received (\w+)$/.exec(told.message) ?? []
  if (received === 'undefined') return 'is needed'
  if (expected !== undefined && received !== undefined) return `must be ${KINDS[expected] ?? expected}`
  if (told.code === 'invalid_value' && told.values)
    return `must be ${told.values.map(one => JSON.stringify(one)).join(' or ')}`
  if (told.code === 'too_small') return bound(told, 'least', told.minimum)
  if (told.code === 'too_big') return bound(told, 'most', told.maximum)
  return issueSentence(issue)
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'fields with values',
  record: 'fields with values',
  null: 'nothing',
}
const PARTS: Readonly<Record<string, string>> = { string: 'character', array: 'item', set: 'item', object: 'field' }

function bound({ origin, inclusive }: ToldIssue, most: 'least' | 'most', limit: unknown): string {
  const part = PARTS[String(origin)]
  if (part !== undefined && most === 'least' && limit === 1) return 'must not be empty'
  if (part !== undefined) return `must have at ${most} ${limit} ${part}${limit === 1 ? '' : 's'}`
  if (inclusive === false) return `must be ${most === 'least' ? 'more' : 'less'} than ${limit}`
  return `must be at ${most} ${limit}`
}

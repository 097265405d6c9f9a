/** Whether what stands where a secret is named is none: a stand-in, a path, a reference to one, or a word about it. */
export function isSpared(before: string, value: string): boolean {
  const bare = value.replace(/^["'`]|["'`,.;)]+$/g, '')
  if (STAND_IN.test(bare) || REFERENCE.test(bare) || isPath(bare)) return true
  return NEVER_A_WORD.test(before) && (/\s/.test(bare) || isWords(bare))
}

/** What people write where a secret would be, what is said of one, and what one was made by. */
const STAND_IN =
  /^(?:\$\{?\w+\}?|\$\([^)]*\)|<[^>]*>|\{\{[^}]*\}\}|%\w+%|\*+|x+|\.{3}|…|\[[^\]]*\]|(?:your|my|the)[-_].*|true|false|yes|no|none|null|undefined|required|optional|string|empty|changed|unknown|wrong|invalid|missing|(?:sha-?\d+|md5|argon2\w*|bcrypt|scrypt|pbkdf2)(?:-\w+)?)$/i

/** Code that fetches it from elsewhere. */
const REFERENCE =
  /^(?:process\.env|import\.meta\.env|os\.environ|os\.getenv|env|secrets|vars|config|settings|options|args|self|this)[.[]/i

/** Where it lies. What is random between two slashes is a key that has slashes. */
function isPath(value: string): boolean {
  const isRooted = /^(?:~|\.{1,2}|[A-Za-z]:)?[\\/][\w.@\\/-]*$/.test(value)
  const isRelative = /^[a-z][a-z0-9_.-]*(?:\/[a-z0-9_.-]+)+$/.test(value)
  return isRelative || (isRooted && !value.split(/[\\/]/).some(isRandom))
}

function isRandom(piece: string): boolean {
  return piece.length >= 12 && /[a-z]/.test(piece) && /[A-Z]/.test(piece) && /\d/.test(piece)
}

/** A password may be a word. These never are: what follows them in prose, or in a setting, says something about them. */
const NEVER_A_WORD = /(?:token|key|secret|credentials?|bearer|basic|bot)\W*$/i

const WORD = /^(?:[a-z]{1,20}|[A-Z]{1,12}|(?:[A-Z][a-z]{2,20})+|[a-z]{2,20}(?:[A-Z][a-z]{2,20})+)[!?]?$/
const MOST_WORDS = 3

/** `rotated`, `created_at`, `getToken`, `X-Api-Key`. */
function isWords(value: string): boolean {
  const words = value.split(/[-_.]/)
  return words.length <= MOST_WORDS && words.every(word => WORD.test(word))
}

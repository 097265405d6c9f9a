import type { SecretPlace } from './secret-place.ts'
import { isPlainCookie, isProse, isProseBehindKey } from './spared-values.ts'

/** As passwords are called, and what else is named like a secret. What stands before it in a name may say whose it is. */
const SPACED_PASSWORD = 'pass(?:word|wd|phrase|code|wort)|kennwort|pwd|contraseña|senha|mot de passe|пароль'
/** In languages without spaces, and in one that writes nouns together, it stands right behind what it is for. */
const JOINED_PASSWORD = 'パスワード|密码|密碼|비밀번호'
const PASSWORD = `${SPACED_PASSWORD}|${JOINED_PASSWORD}`
const SECRET = String.raw`secret|(?:api|access|auth|private|secret|signing|encryption|account)[ _-]?key|token|credentials?`
const NAME = String.raw`(?:${PASSWORD}|${SECRET})`
/** What is also a word, but not behind one of these: a boarding pass, and the first pass of a compiler. */
const SHORT_NAME = String.raw`(?:\b(?:my|our|your|his|her|their|user|login|root|admin|wi-?fi) |[A-Za-z0-9]_)(?:pass|pw)`
/** Unquoted it ends where a setting or a part of an address does; in quotes it is all that is in them. */
const PLAIN = String.raw`(?![\s"'\x60])(?:[^\s"'\x60;,&<>()]|&(?!\w{1,64}=)){4,512}`
const SET = String.raw`["'\x60]?\s{0,4}(?::=|=>|[=:：])\s{0,4}`
const SAID = String.raw`(?:is|ist|est|es|was|war|lautet):? (?:now |still |currently )?["'\x60]?`

/** `\b` knows the letters of English alone. */
const WORD_START = String.raw`(?<![\p{L}\p{N}_])`
const WHOLE_PASSWORD = `(?:${WORD_START}(?:${SPACED_PASSWORD})|${JOINED_PASSWORD})`

/** In nearly every text there is none of these words. */
const NAMED = /pass|kennwort|pwd|pw\b|secret|key|token|credential|contrase|senha|парол|パスワード|密|비밀/i

/** What is named as a secret: in a setting, in a command, in a header, or in a sentence. */
export const NAMED_SECRETS: readonly SecretPlace[] = [
  // `password=…`, `"apiKey": "…"`, `DB_PASSWORD: …`.
  {
    form: new RegExp(
      String.raw`(?<before>(?:${NAME}|${SHORT_NAME})${SET}(?<quote>["'\x60]))(?:(?!\k<quote>)[^\n]){4,512}(?<after>\k<quote>)`,
      'giu',
    ),
    hint: NAMED,
  },
  { form: new RegExp(String.raw`(?<before>(?:${NAME}|${SHORT_NAME})${SET}["'\x60]?)${PLAIN}`, 'giu'), hint: NAMED },
  // `OPENAI_KEY=…`, but no `PRIMARY_KEY=id`.
  {
    form: new RegExp(String.raw`(?<before>\b[A-Z][A-Z0-9_]{1,40}_KEY${SET}["'\x60]?)${PLAIN}`, 'gu'),
    hint: /_KEY/,
    spares: isProse,
  },
  // `pass: …` alone may be said of a test.
  {
    form: new RegExp(String.raw`(?<before>\b(?:pass|pw)${SET}["'\x60]?)${PLAIN}`, 'giu'),
    hint: NAMED,
    spares: isProse,
  },
  { form: new RegExp(String.raw`(?<before>--(?:[a-z]{1,20}-){0,4}${NAME}\s{1,4})(?!-)${PLAIN}`, 'giu'), hint: /--/ },
  // `curl -u me:…`, `docker login -p …`. A user and a group behind another command are no secret.
  {
    form: /(?<before>\b(?:curl|wget|https?)\b[^\n]{0,256}?\s(?:-[a-zA-Z]{0,8}[uU]|--(?:proxy-)?user)[ =]{0,2}["'`]?[^\s:"'`]{1,128}:)[^\s"'`]{1,256}/g,
    hint: /\b(?:curl|wget|http)/,
  },
  // `mysql -pSECRET`, where a space would begin the name of a database.
  {
    form: /(?<before>\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^\n]{0,256}?\s-p["'`]?)[^\s"'`-][^\s"'`]{3,256}/g,
    hint: /mysql|mariadb/,
  },
  {
    form: /(?<before>\b(?:sshpass|(?:docker|podman|helm|registry) login)\b[^\n]{0,256}?\s-p[ =]?["'`]?)[^\s"'`]{4,256}/g,
    hint: /sshpass|login/,
  },
  {
    form: /(?<before>(?:\b(?:set-)?cookie["'`]?\s{0,4}[:=]|--cookie[ =])\s{0,4}["'`]?)[\w.$-]{1,64}=[^\s;,"'`]{1,4096}(?:;\s{0,2}[\w.$-]{1,64}=[^\s;,"'`]{0,4096}){0,64}/gi,
    hint: /cookie/i,
    spares: isPlainCookie,
  },
  // As people say it. "The password is old" and "the token is base64-encoded" stay.
  { form: new RegExp(String.raw`(?<before>${NAME} ${SAID})${PLAIN}`, 'giu'), hint: NAMED, spares: isProse },
  {
    form: new RegExp(String.raw`(?<before>${WHOLE_PASSWORD}\s{1,4}["'\x60]?)${PLAIN}`, 'giu'),
    hint: NAMED,
    spares: isProse,
  },
  // Digits alone are a secret only where nothing else is: a PIN is four of them, and no date or measure.
  {
    form: new RegExp(
      String.raw`(?<before>${WORD_START}(?:passcode|pin(?:[ -](?:code|number))?) ${SAID})\d{4,12}(?![\p{L}\p{N}_]|[-.,:/]\p{N})`,
      'giu',
    ),
    hint: /passcode|\bpin\b/i,
  },
  {
    form: new RegExp(String.raw`(?<before>\b(?:${SECRET})\s{1,4}["'\x60]?)${PLAIN}`, 'giu'),
    hint: NAMED,
    spares: isProseBehindKey,
  },
]

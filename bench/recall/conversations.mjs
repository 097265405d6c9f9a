// @ts-check
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

/**
 * @typedef {{ id: string, session: string, text: string }} Turn
 * @typedef {{ question: string, evidence: string[] }} Question
 * @typedef {{ set: string, name: string, turns: Turn[], questions: Question[] }} Conversation
 */

/**
 * Every conversation of a folder: ours, or a list of samples as LoCoMo has them.
 * @param {string} folder
 * @returns {Promise<Conversation[]>}
 */
export async function readConversations(folder) {
  const files = (await readdir(folder)).filter(name => name.endsWith('.json')).sort()
  if (files.length === 0) throw new Error(`There is no .json file in ${folder}.`)
  const all = await Promise.all(
    files.map(async file =>
      read(file, await readFile(join(folder, file), 'utf8')).map(one => ({ ...one, set: basename(file, '.json') })),
    ),
  )
  return all.flat().map((conversation, i) => ({ ...conversation, name: `c${i}` }))
}

/** @param {string} file @param {string} text @returns {Omit<Conversation, 'set'>[]} */
function read(file, text) {
  const value = JSON.parse(text)
  const list = Array.isArray(value) ? value : [value]
  return list.map(one => (one.conversation ? fromSample(one) : fromOurs(file, one)))
}

/** @param {string} file @param {any} value @returns {Omit<Conversation, 'set'>} */
function fromOurs(file, { sessions, questions }) {
  if (!Array.isArray(sessions) || !Array.isArray(questions))
    throw new Error(`${file} has no "sessions" and "questions".`)
  const turns = sessions.flatMap((session, i) =>
    session.turns.map((/** @type {any} */ turn) => ({
      id: turn.id,
      session: session.id ?? `s${i}`,
      text: said(turn.speaker, session.date, turn.text),
    })),
  )
  return { name: file, turns, questions: known(turns, questions) }
}

/** @param {any} value @returns {Omit<Conversation, 'set'>} */
function fromSample({ conversation, qa }) {
  const sessions = Object.keys(conversation).filter(key => /^session_\d+$/.test(key))
  const turns = sessions.flatMap(session =>
    conversation[session].map((/** @type {any} */ turn) => ({
      id: turn.dia_id,
      session,
      text: said(turn.speaker, conversation[`${session}_date_time`], pictured(turn)),
    })),
  )
  return { name: 'sample', turns, questions: known(turns, qa) }
}

/**
 * As somebody would keep it who wants to know later who said it, and when.
 * @param {string} speaker @param {string | undefined} date @param {string} text
 */
const said = (speaker, date, text) => `${speaker}${date ? `, ${date}` : ''}: ${text}`

/** A picture stands before the words that were said to it, so that a question still ends in its mark. @param {any} turn */
const pictured = ({ blip_caption: caption, text }) => (caption ? `[${caption}] ${text}` : text)

/** Only questions whose evidence is in the conversation can be judged. @param {Turn[]} turns @param {any[]} questions */
function known(turns, questions) {
  const ids = new Set(turns.map(({ id }) => id))
  return questions
    .map(({ question, evidence = [] }) => ({
      question,
      evidence: evidence
        .flatMap((/** @type {string} */ text) => text.split(/[;,\s]+/))
        .filter((/** @type {string} */ id) => ids.has(id)),
    }))
    .filter(({ evidence }) => evidence.length > 0)
}

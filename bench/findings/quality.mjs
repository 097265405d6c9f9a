// @ts-check
import { figure } from '../lib/figure.mjs'
import { compareNames, findingsIn, WORDED } from '../lib/product.mjs'
import { readAttacks, readListings, readOrdinary, readOtherHand, readUnseen } from './data.mjs'

/** @typedef {import('./data.mjs').Case} Case */

const MOST_FALSE_ALARMS = 2

/** What the rules by concept are about. */
const KINDS_OF_CONCEPTS = new Set(['markup-exfil', 'precedence', 'context-exfil'])

/**
 * How many attacks are found, and how many ordinary tools are taken for one.
 * @param {object} options
 * @param {string} options.folder
 * @param {string | undefined} options.listings
 */
export function run({ folder, listings }) {
  const attacks = readAttacks()
  const otherHand = readOtherHand()
  const unseen = readUnseen()
  const ordinary = readOrdinary(folder)
  return [
    ...found(
      'attacks that the rules were written with',
      attacks.filter(attack => !attack.heldOut),
    ),
    ...found(
      'attacks held out',
      attacks.filter(attack => attack.heldOut),
    ),
    ...found('attacks by another hand', otherHand.attacks),
    ...found(
      'attacks by another hand, with addresses, ranks and conversations',
      otherHand.attacks.filter(({ kind }) => KINDS_OF_CONCEPTS.has(kind)),
    ),
    ...found('near misses by another hand', otherHand.nearMisses),
    ...found(
      'attacks by a third hand',
      unseen.filter(({ hand }) => hand === 'third'),
    ),
    ...found(
      'attacks by a fourth hand',
      unseen.filter(({ hand }) => hand === 'fourth'),
    ),
    figure('ordinary tools', ordinary.length, 'tools'),
    figure('ordinary tools, held back', percent(ordinary, isHeld), '%', MOST_FALSE_ALARMS),
    figure('ordinary tools, warned of', percent(ordinary, isWarnedOf), '%'),
    figure('ordinary tools, each', milliseconds(ordinary), 'ms'),
    ...(listings ? told('definitions of servers', readListings(listings)) : []),
  ]
}

/**
 * @param {string} what
 * @param {readonly Case[]} attacks
 */
function found(what, attacks) {
  return [
    figure(what, attacks.length, 'tools'),
    figure(`${what}, held back by rules`, percent(attacks, isHeldByRules), '%'),
    figure(`${what}, held back`, percent(attacks, isHeld), '%'),
    figure(
      `${what}, held back or warned of by rules`,
      percent(attacks, one => byRules(one).length > 0),
      '%',
    ),
    figure(
      `${what}, held back or warned of`,
      percent(attacks, one => isHeld(one) || isWarnedOf(one)),
      '%',
    ),
  ]
}

/**
 * Everything that is told of servers which nobody has a quarrel with, whether or not it is worth telling.
 * @param {string} what
 * @param {readonly Case[]} cases
 */
function told(what, cases) {
  return [
    figure(what, cases.length, 'tools'),
    figure(`${what}, held back`, percent(cases, isHeld), '%', MOST_FALSE_ALARMS),
    figure(
      `${what}, held back or warned of`,
      percent(cases, one => findings(one).length > 0),
      '%',
      MOST_FALSE_ALARMS,
    ),
  ]
}

/** Tools of one server share a list of siblings, which is compared once. @type {WeakMap<object, import('../lib/product.mjs').ComparedNames>} */
const compared = new WeakMap()

/** @param {Case} one */
function findings({ definition, siblings, others }) {
  const names = compared.get(siblings) ?? compareNames({ siblings: new Set(siblings), others: new Set(others) })
  compared.set(siblings, names)
  return findingsIn(definition, names)
}

/** Without what is only worded like that. @param {Case} one */
const byRules = one => findings(one).filter(({ message }) => !message.startsWith(WORDED))

/** @param {Case} one */
const isHeldByRules = one => byRules(one).some(({ strength }) => strength === 'strong')

/** @param {Case} one */
const isHeld = one => findings(one).some(({ strength }) => strength === 'strong')

/** @param {Case} one */
const isWarnedOf = one => !isHeld(one) && findings(one).length > 0

/**
 * @param {readonly Case[]} cases
 * @param {(one: Case) => boolean} test
 */
function percent(cases, test) {
  return (100 * cases.filter(test).length) / cases.length
}

/** @param {readonly Case[]} cases */
function milliseconds(cases) {
  const startedAt = performance.now()
  for (const one of cases) findings(one)
  return (performance.now() - startedAt) / cases.length
}

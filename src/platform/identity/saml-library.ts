/** Loaded late by way of this file: of a bundled package in CommonJS, a late import finds no names. */
export { SAML, ValidateInResponseTo } from "@node-saml/node-saml";
